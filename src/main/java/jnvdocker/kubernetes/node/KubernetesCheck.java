package jnvdocker.kubernetes.node;

import jnvdocker.doctor.ConfigurationChecks;
import jnvdocker.doctor.Findings;
import jnvdocker.host.Host;
import jnvdocker.kubernetes.CheckpointFile;
import jnvdocker.kubernetes.MalformedCheckpointException;
import jnvdocker.kubernetes.PluginRegistration;
import jnvdocker.posix.FileErrors;
import jnvdocker.words.Quote;

import java.io.IOException;
import java.util.List;

/** Checks whether this host's kubelet gives its pods GPUs from us, and what that needs. */
final class KubernetesCheck {
    private final Host host;
    private final KubernetesFacts facts;

    KubernetesCheck(Host host, KubernetesFacts facts) {
        this.host = host;
        this.facts = facts;
    }

    /** Finds nothing on a host without a kubelet, unless the configuration enables Kubernetes. */
    void findings(Findings found) throws IOException {
        boolean kubelet = facts.isKubeletThere();
        if (!facts.enabled()) {
            if (kubelet) {
                notEnabled(found);
            }
            return;
        }
        List<PluginRegistration> registrations = facts.registrations();
        registrations.forEach(each -> add(each, found));
        if (registrations.isEmpty()) {
            found.unknown("the kubelet has not been offered the GPUs yet");
        }
        facts.fault().ifPresent(found::wrong);
        for (String joined : facts.joined()) {
            found.wrong(
                    joined,
                    "give each pod a claim of its own (resourceClaimTemplateName in the pod)");
        }
        ConfigurationChecks.unknown("kubernetes.gpus", host, facts::givesNothing, found);
        files(found);
        if (kubelet && !facts.byClaims()) {
            checkpoint(found);
        }
    }

    private void notEnabled(Findings found) {
        found.hint(
                "a kubelet runs here ("
                        + facts.kubeletDirectory()
                        + "), and its pods get no GPUs from jnvdocker",
                "write enabled = true below [kubernetes] in "
                        + facts.config()
                        + ", then run 'jnvdocker gpu reload'");
    }

    private void add(PluginRegistration registration, Findings found) {
        String resource = registration.resource();
        switch (registration.state()) {
            case PluginRegistration.Trying _ ->
                    found.unknown("the kubelet has not been offered " + resource + " yet");
            case PluginRegistration.Registered _ ->
                    found.ok("the kubelet gives pods that request " + resource + " our GPUs");
            case PluginRegistration.NoKubelet _ ->
                    found.wrong(
                            "no kubelet answers in %s, so no pod gets %s"
                                    .formatted(facts.kubeletDirectory(), resource),
                            "start the kubelet, or set kubelet_dir below [kubernetes] in "
                                    + facts.config());
            case PluginRegistration.Competitor(String socket) ->
                    found.wrong(
                            "another device plugin (%s) gives pods %s, whoever holds the GPUs"
                                    .formatted(Quote.shown(socket), resource),
                            "remove it from this node; jnvdocker then registers by itself");
            case PluginRegistration.Failed(var reason) ->
                    found.wrong(
                            reason.precededBy(
                                    resource + " is not given to pods as it should be: "));
        }
    }

    /** Checks the driver's files and the nodes. */
    private void files(Findings found) {
        if (facts.obstacle().isPresent()) {
            found.wrong(facts.obstacle().get().precededBy("pods get no driver's files: "));
        } else if (facts.byClaims()) {
            claimFiles(found);
        } else if (facts.cdiFault().isPresent()) {
            found.hint(
                    facts.cdiFault().get().precededBy("pods get their GPUs without CDI devices: "));
        } else {
            found.ok(
                    facts.cdiFile()
                            .map(file -> file + " has a device for each GPU")
                            .orElse("pods get device nodes and no CDI devices (cdi = false)"));
        }
    }

    /** A kubelet gives a pod with a claim its CDI devices, and nothing else. */
    private void claimFiles(Findings found) {
        if (facts.cdiFault().isPresent()) {
            found.wrong(facts.cdiFault().get().precededBy("pods with claims get no CDI devices: "));
        } else if (facts.cdiFile().isPresent()) {
            found.ok(facts.cdiFile().get() + " has a device for each GPU");
        } else {
            found.wrong(
                    "pods with claims get no CDI devices (cdi = false)",
                    "take that key out of " + facts.config());
        }
    }

    /** Without it a pod's uid is not known, and the kubelet's list has its name alone. */
    private void checkpoint(Findings found) {
        try {
            if (CheckpointFile.isReadable(facts.kubeletDirectory())) {
                found.ok("the kubelet's checkpoint can be read");
                return;
            }
            int held = facts.gpusOfPods();
            if (held == 0) {
                found.ok("the kubelet has given no device to a pod yet");
            } else {
                found.wrong(
                        "the kubelet's checkpoint is gone while pods hold "
                                + held
                                + (held == 1 ? " GPU" : " GPUs")
                                + ": a kubelet that starts again does not know that",
                        "start a pod with a GPU, at which the kubelet writes its checkpoint"
                                + " again, before you restart it");
            }
        } catch (MalformedCheckpointException e) {
            found.wrong(
                    e.getMessage() + ", so that pods are not known",
                    "restart the kubelet, which rewrites it");
        } catch (IOException e) {
            found.unknown("which pods have GPUs: " + FileErrors.describe(e));
        }
    }
}
