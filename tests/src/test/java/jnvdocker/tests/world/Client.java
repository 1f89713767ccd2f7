package jnvdocker.tests.world;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;

/** A program other than docker with which users request containers from an engine. */
public enum Client {
    /** docker-compose 1.29, in Python. */
    COMPOSE_1,
    /** The plugin of docker, 2.x, which is also a program of its own. */
    COMPOSE_2,
    /** A Python with the module docker. */
    DOCKER_PY,
    /** Debian's. */
    PODMAN,
    /** Debian sid's. */
    PODMAN_SID,
    /** What Kubernetes' kubelet is to containerd: {@code worlds/cri}. */
    CRI;

    /** The podman that {@code PODMAN} in the environment names, by default this machine's. */
    public static Client podman() {
        return valueOf(Objects.requireNonNullElse(System.getenv("PODMAN"), PODMAN.name()));
    }

    /** The program, which is installed or fetched at the first call. */
    public Path program() {
        String name = name().toLowerCase(Locale.ROOT).replace('_', '-');
        return Path.of(
                Command.of(Project.world("client"), name)
                        .run()
                        .ok()
                        .out()
                        .lines()
                        .toList()
                        .getLast());
    }

    /** A command that talks to a lab's engine. */
    public Command command(Lab lab, Object... words) {
        List<Object> all = new ArrayList<>(List.of(program()));
        all.addAll(Arrays.asList(words));
        return Command.of(all.toArray()).with("DOCKER_HOST", lab.engine().url());
    }
}
