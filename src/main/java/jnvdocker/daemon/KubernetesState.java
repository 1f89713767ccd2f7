package jnvdocker.daemon;

import jnvdocker.doctor.KubernetesFacts;
import jnvdocker.host.Gpu;
import jnvdocker.kubernetes.PluginRegistration;
import jnvdocker.kubernetes.PodInjection;
import jnvdocker.kubernetes.PodLeases;
import jnvdocker.words.Refusal;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * What this daemon does for pods, for the checks of {@code doctor}.
 *
 * @param registered what has become of each resource
 */
record KubernetesState(
        LiveConfig live,
        PodLeases leases,
        PodInjection injection,
        Supplier<List<PluginRegistration>> registered)
        implements KubernetesFacts {
    @Override
    public boolean enabled() {
        return live.kubernetes().enabled();
    }

    @Override
    public boolean byClaims() {
        return live.kubernetes().cluster().isPresent();
    }

    @Override
    public Path kubeletDirectory() {
        return live.kubernetes().kubeletDirectory();
    }

    @Override
    public List<String> givesNothing(List<Gpu> host) {
        return live.kubernetes().givesNothing(host);
    }

    @Override
    public Path config() {
        return live.file();
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
        return registered.get();
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
