package jnvdocker.oci.install;

import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** The kinds of engines that our OCI runtime can be installed for. */
public enum EngineKind {
    DOCKER("/etc/docker/daemon.json"),
    /** A file of our own, which it reads beside its others. */
    PODMAN("/etc/containers/containers.conf.d/jnvdocker.conf"),
    CONTAINERD("/etc/containerd/config.toml"),
    /** A file of our own, as podman's. */
    CRIO("/etc/crio/crio.conf.d/99-jnvdocker.conf"),
    /** No engine: devices that any of them can give to containers of any runtime. */
    CDI("/etc/cdi/jnvdocker.json");

    private final Path config;

    EngineKind(String config) {
        this.config = Path.of(config);
    }

    /** As it is typed: {@code docker}. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** As it calls itself. */
    String title() {
        return this == CRIO ? "CRI-O" : word();
    }

    /** Where it reads its configuration unless another place is set. */
    public Path config() {
        return config;
    }

    /** The programs that it takes of its own accord, the first that is there. */
    List<String> runtimes() {
        return switch (this) {
            case DOCKER, CONTAINERD -> List.of("runc");
            case PODMAN, CDI -> List.of("crun", "runc");
            // It mostly brings its own.
            case CRIO -> List.of("/usr/libexec/crio/crun", "crun", "runc");
        };
    }

    EngineSettings settings() {
        return switch (this) {
            case DOCKER -> new DaemonJson();
            case PODMAN -> new ContainersConf();
            case CONTAINERD -> new ContainerdConf();
            case CRIO -> new CrioConf();
            case CDI -> new CdiFile();
        };
    }

    /**
     * A command that shows whether a container gets a GPU by the runtime of that name.
     *
     * @param pods whether pods get their GPUs by their limits, and by no annotation
     */
    public String trial(String runtime, boolean pods) {
        return switch (this) {
            case DOCKER ->
                    "docker run --rm --runtime "
                            + runtime
                            + " --label jnvdocker.gpus=1 IMAGE nvidia-smi -L";
            case PODMAN ->
                    "podman run --rm --runtime "
                            + runtime
                            + " --device /dev/nvidia0 IMAGE nvidia-smi -L";
            case CONTAINERD, CRIO ->
                    "kubectl logs of a pod that runs nvidia-smi -L, with the RuntimeClass "
                            + runtime
                            + (pods
                                    ? " and the limit nvidia.com/gpu: 1"
                                    : " and the annotation jnvdocker.gpus: \"1\"");
            case CDI ->
                    "podman run --rm --device "
                            + RuntimeInstaller.CDI_KIND
                            + "=0 IMAGE nvidia-smi -L";
        };
    }

    /** The command that makes it read its configuration again, where one is needed. */
    public Optional<String> reload() {
        return switch (this) {
            case DOCKER -> Optional.of("systemctl reload docker");
            case PODMAN, CDI -> Optional.empty();
            case CONTAINERD -> Optional.of("systemctl restart containerd");
            case CRIO -> Optional.of("systemctl reload crio");
        };
    }
}
