package jnvdocker.kubernetes.node;

import jnvdocker.config.ConfigTable;
import jnvdocker.feature.Core;
import jnvdocker.feature.Feature;
import jnvdocker.holder.HolderKind;
import jnvdocker.kubernetes.KubernetesPolicy;
import jnvdocker.kubernetes.PodInjection;
import jnvdocker.kubernetes.PodKind;
import jnvdocker.kubernetes.PodLeases;
import jnvdocker.kubernetes.dra.DraDriver;
import jnvdocker.process.Processes;
import jnvdocker.volume.GpuHost;

import java.io.IOException;
import java.util.function.Supplier;

/** Pods of Kubernetes get GPUs: a kubelet of this host is served, if the configuration says so. */
public final class KubernetesFeature implements Feature {
    private final PodKind kind;

    public KubernetesFeature(Processes processes) {
        kind = new PodKind(processes);
    }

    @Override
    public ConfigTable<?> table() {
        return ConfiguredKubernetes.TABLE;
    }

    @Override
    public HolderKind kind() {
        return kind;
    }

    @Override
    public Running start(Core core) throws IOException {
        GpuHost gpus = core.gpuHost();
        Supplier<KubernetesPolicy> policy = () -> core.config().get(ConfiguredKubernetes.TABLE);
        PodLeases leases = new PodLeases(core.leases(), core.world().pace(), kind);
        PodInjection injection =
                new PodInjection(gpus, policy, core.places().run(), core.places().cdi()).start();
        try {
            KubernetesParts parts =
                    new KubernetesParts(
                                    core.leases(),
                                    core.world(),
                                    leases,
                                    gpus.host(),
                                    injection,
                                    policy,
                                    new DraDriver.Knowledge(
                                            gpus.host(),
                                            gpus.inventory(),
                                            core.cuda(),
                                            core.monitor()::facts))
                            .start();
            return new RunningKubernetes(core, policy, leases, injection, parts);
        } catch (IOException | RuntimeException e) {
            injection.close();
            throw e;
        }
    }
}
