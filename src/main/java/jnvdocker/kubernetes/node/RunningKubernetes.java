package jnvdocker.kubernetes.node;

import jnvdocker.command.caller.OwnCommands;
import jnvdocker.command.runtime.PodContainers;
import jnvdocker.doctor.Check;
import jnvdocker.doctor.LaterUnit;
import jnvdocker.feature.Core;
import jnvdocker.feature.Feature;
import jnvdocker.host.Gpu;
import jnvdocker.kubernetes.KubernetesPolicy;
import jnvdocker.kubernetes.PluginRegistration;
import jnvdocker.kubernetes.PodInjection;
import jnvdocker.kubernetes.PodLeases;
import jnvdocker.words.Refusal;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/** What this daemon does for pods. */
record RunningKubernetes(
        Core core,
        Supplier<KubernetesPolicy> policy,
        PodLeases leases,
        PodInjection injection,
        KubernetesParts parts)
        implements Feature.Running, KubernetesFacts {
    @Override
    public OwnCommands commands() {
        return new K8sCommand(
                new NodeFacts(core.gpuHost().inventory(), core.cuda(), core.monitor()::readings));
    }

    @Override
    public Check check() {
        return new Check("kubernetes", new KubernetesCheck(core.gpuHost().host(), this)::findings);
    }

    @Override
    public boolean needsNoDocker(boolean docker) {
        return enabled() || isKubeletThere();
    }

    @Override
    public Optional<LaterUnit> later() {
        return Optional.of(
                        new LaterUnit(
                                "kubelet.service",
                                "at boot the kubelet rejects pods that request GPUs"))
                .filter(_ -> enabled());
    }

    @Override
    public Optional<PodContainers.Pods> pods() {
        return Optional.of(new PodContainers.Pods(this::enabled, leases::of));
    }

    @Override
    public void reloaded() {
        parts.follow();
    }

    @Override
    public void remove() throws IOException {
        injection.remove();
    }

    @Override
    public void resume() {
        injection.resume();
    }

    @Override
    public void close() {
        parts.close();
        injection.close();
    }

    @Override
    public boolean enabled() {
        return policy.get().enabled();
    }

    @Override
    public boolean byClaims() {
        return policy.get().cluster().isPresent();
    }

    @Override
    public Path kubeletDirectory() {
        return policy.get().kubeletDirectory();
    }

    @Override
    public List<String> givesNothing(List<Gpu> host) {
        return policy.get().givesNothing(host);
    }

    @Override
    public Path config() {
        return core.installation().config();
    }

    @Override
    public int gpusOfPods() throws IOException {
        return leases.live().size();
    }

    @Override
    public List<String> joined() throws IOException {
        return leases.report().joined();
    }

    @Override
    public List<PluginRegistration> registrations() {
        return parts.registrations();
    }

    @Override
    public Optional<Refusal> fault() {
        return leases.fault();
    }

    @Override
    public Optional<Refusal> obstacle() {
        return injection.obstacle();
    }

    @Override
    public Optional<Refusal> cdiFault() {
        return injection.cdiFault();
    }

    @Override
    public Optional<Path> cdiFile() {
        return injection.cdiFile();
    }
}
