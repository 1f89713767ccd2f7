package jnvdocker.oci.install;

import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** An engine that can be told of other OCI runtimes. */
public enum EngineKind {
    DOCKER("/etc/docker/daemon.json", List.of("runc")),
    /** A file of our own, which it reads beside its others. */
    PODMAN("/etc/containers/containers.conf.d/jnvdocker.conf", List.of("crun", "runc")),
    CONTAINERD("/etc/containerd/config.toml", List.of("runc"));

    private final Path config;
    private final List<String> runtimes;

    EngineKind(String config, List<String> runtimes) {
        this.config = Path.of(config);
        this.runtimes = runtimes;
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
        return runtimes;
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
