package jnvdocker.oci.install;

import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** An engine that can be told of other OCI runtimes. */
public enum EngineKind {
    DOCKER("/etc/docker/daemon.json"),
    /** A file of our own, which it reads beside its others. */
    PODMAN("/etc/containers/containers.conf.d/jnvdocker.conf"),
    CONTAINERD("/etc/containerd/config.toml");

    private final Path config;

    EngineKind(String config) {
        this.config = Path.of(config);
    }

    /** As it is typed: {@code docker}. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Where it looks for its configuration unless it is told otherwise. */
    public Path config() {
        return config;
    }

    /** The programs that it takes of its own accord, the first that is there. */
    List<String> runtimes() {
        return switch (this) {
            case DOCKER, CONTAINERD -> List.of("runc");
            case PODMAN -> List.of("crun", "runc");
        };
    }

    EngineSettings settings() {
        return switch (this) {
            case DOCKER -> new DaemonJson();
            case PODMAN -> new ContainersConf();
            case CONTAINERD -> new ContainerdToml();
        };
    }

    /** What is to be typed so that it reads its configuration again, where it must be told. */
    public Optional<String> reload() {
        return switch (this) {
            case DOCKER -> Optional.of("systemctl reload docker");
            case PODMAN -> Optional.empty();
            case CONTAINERD -> Optional.of("systemctl restart containerd");
        };
    }
}
