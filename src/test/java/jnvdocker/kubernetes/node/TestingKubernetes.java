package jnvdocker.kubernetes.node;

import jnvdocker.host.Gpu;
import jnvdocker.kubernetes.PluginRegistration;
import jnvdocker.words.Refusal;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** A daemon's part for pods, with nothing behind it. */
record TestingKubernetes(
        boolean enabled,
        Path kubeletDirectory,
        List<String> unknown,
        List<PluginRegistration> registrations,
        Optional<Refusal> obstacle,
        Optional<Refusal> cdiFault,
        Optional<Path> cdiFile,
        Optional<Refusal> fault,
        int gpusOfPods,
        boolean byClaims)
        implements KubernetesFacts {
    private static final Path CDI_FILE = Path.of("/var/run/cdi/jnvdocker-pods.json");

    /** One whose pods get CDI devices. */
    TestingKubernetes(
            boolean enabled,
            Path kubeletDirectory,
            List<String> unknown,
            List<PluginRegistration> registrations,
            Optional<Refusal> obstacle,
            Optional<Refusal> cdiFault) {
        this(
                enabled,
                kubeletDirectory,
                unknown,
                registrations,
                obstacle,
                cdiFault,
                Optional.of(CDI_FILE),
                Optional.empty(),
                0,
                false);
    }

    /** A host without Kubernetes. */
    static TestingKubernetes none(Path directory) {
        return new TestingKubernetes(
                false, directory, List.of(), List.of(), Optional.empty(), Optional.empty());
    }

    @Override
    public List<String> givesNothing(List<Gpu> host) {
        return unknown;
    }

    @Override
    public List<String> joined() {
        return List.of();
    }

    @Override
    public Path config() {
        return Path.of("/etc/jnvdocker/config.toml");
    }
}
