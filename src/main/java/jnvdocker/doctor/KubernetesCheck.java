package jnvdocker.doctor;

import jnvdocker.host.Host;
import jnvdocker.kubernetes.CheckpointFile;
import jnvdocker.kubernetes.MalformedCheckpointException;
import jnvdocker.kubernetes.Registration;
import jnvdocker.posix.FileErrors;
import jnvdocker.words.Quote;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Checks whether this host's kubelet gives its pods GPUs from us, and what that needs. */
final class KubernetesCheck implements Check {
    private final Host host;
    private final KubernetesFacts facts;
    private final DaemonFacts daemon;

    KubernetesCheck(Host host, KubernetesFacts facts, DaemonFacts daemon) {
        this.host = host;
        this.facts = facts;
        this.daemon = daemon;
    }

    @Override
    public String name() {
        return "kubernetes";
    }

    /** Finds nothing on a host without a kubelet, unless the configuration enables Kubernetes. */
    @Override
    public List<Finding> findings() throws IOException {
        boolean kubelet = facts.isKubeletThere();
        if (!facts.enabled()) {
            return kubelet ? List.of(notEnabled()) : List.of();
        }
        List<Finding> found = new ArrayList<>();
        List<Registration> registrations = facts.registrations();
        registrations.forEach(each -> found.add(finding(each)));
        if (registrations.isEmpty()) {
            found.add(Finding.unknown("the kubelet has not been offered the GPUs yet"));
        }
        facts.fault().ifPresent(why -> found.add(Finding.wrong(why)));
        found.addAll(ConfiguredGpus.check(host, facts::givesNothing, "kubernetes_gpus", daemon));
        found.add(files());
        if (kubelet) {
            found.add(checkpoint());
        }
        return found;
    }

    private Finding notEnabled() {
        return Finding.hint(
                "a kubelet runs here ("
                        + facts.kubeletFolder()
                        + "), and its pods get no GPUs from jnvdocker",
                "write enabled = true below [kubernetes] in "
                        + facts.config()
                        + ", then run 'jnvdocker gpu reload'");
    }

    private Finding finding(Registration registration) {
        String resource = registration.resource();
        return switch (registration.state()) {
            case Registration.Trying _ ->
                    Finding.unknown("the kubelet has not been offered " + resource + " yet");
            case Registration.Registered _ ->
                    Finding.ok("the kubelet gives pods that request " + resource + " our GPUs");
            case Registration.NoKubelet _ ->
                    Finding.wrong(
                            "no kubelet answers in "
                                    + facts.kubeletFolder()
                                    + ", so no pod gets "
                                    + resource,
                            "start the kubelet, or set kubelet_dir below [kubernetes] in "
                                    + facts.config());
            case Registration.Competitor(String socket) ->
                    Finding.wrong(
                            "another device plugin ("
                                    + Quote.shown(socket)
                                    + ") gives pods "
                                    + resource
                                    + ", whoever holds the GPUs",
                            "remove it from this node; jnvdocker then registers by itself");
            case Registration.Failed(var reason) ->
                    Finding.wrong(
                            reason.precededBy("the kubelet does not have " + resource + ": "));
        };
    }

    /** Checks the driver's files and the nodes. */
    private Finding files() {
        if (facts.obstacle().isPresent()) {
            return Finding.wrong(facts.obstacle().get().precededBy("pods get no driver's files: "));
        }
        return facts.cdiFault()
                .map(fault ->
                        Finding.hint(fault.precededBy("pods get their GPUs without CDI devices: ")))
                .orElseGet(() ->
                        Finding.ok(
                                facts.cdiFile()
                                        .map(file -> file + " has a device for each GPU")
                                        .orElse(
                                                "pods get device nodes and no CDI devices (cdi ="
                                                        + " false)")));
    }

    /** Without it a pod's uid is not known, and the kubelet's list has its name alone. */
    private Finding checkpoint() throws IOException {
        try {
            if (CheckpointFile.isReadable(facts.kubeletFolder())) {
                return Finding.ok("the kubelet's checkpoint can be read");
            }
            int held = facts.gpusOfPods();
            return held == 0
                    ? Finding.ok("the kubelet has given no device to a pod yet")
                    : Finding.wrong(
                            "the kubelet's checkpoint is gone while pods hold "
                                    + held
                                    + (held == 1 ? " GPU" : " GPUs")
                                    + ": a kubelet that starts again does not know that",
                            "start a pod with a GPU, at which the kubelet writes its checkpoint"
                                    + " again, before you restart it");
        } catch (MalformedCheckpointException e) {
            return Finding.wrong(
                    e.getMessage() + ", so that pods are not known",
                    "restart the kubelet, which rewrites it");
        } catch (IOException e) {
            return Finding.unknown("which pods have GPUs: " + FileErrors.describe(e));
        }
    }
}
