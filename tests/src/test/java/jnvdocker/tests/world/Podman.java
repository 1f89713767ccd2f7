package jnvdocker.tests.world;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A podman with directories of its own, below a given one, which has a lab's image {@code plain}.
 */
public final class Podman {
    private final List<Object> program = new ArrayList<>();
    private final Path directory;

    /**
     * @param directory of at most 40 characters, since podman limits the paths below it
     * @param before the words before podman's own
     */
    public Podman(Lab lab, Client client, Path directory, Object... before) {
        this.directory = directory;
        program.addAll(Arrays.asList(before));
        program.add(client.program());
        program.addAll(
                List.of(
                        "--root",
                        directory.resolve("containers"),
                        "--runroot",
                        directory.resolve("r"),
                        "--cgroup-manager=cgroupfs",
                        "--events-backend=file"));
        Path image = directory.resolve("plain.tar");
        lab.docker("save", "-o", image, "plain").ok();
        command("load", "-q", "-i", image).run().ok();
    }

    /** Lays out our OCI runtime for it, before Debian's runc. */
    public void installRuntime(Lab lab) {
        Object[] words = {
            "runtime",
            "install",
            "--engine=podman",
            "--config",
            config(),
            "--runtime-dir",
            directory.resolve("runtime"),
            "--real",
            Command.of("which", "runc").run().ok().out().strip()
        };
        lab.jnvdocker(words).ok();
    }

    /** Its configuration, which it only reads if it is there. */
    public Path config() {
        return directory.resolve("podman.conf");
    }

    public Command command(Object... words) {
        List<Object> all = new ArrayList<>(program);
        all.addAll(Arrays.asList(words));
        Command command = Command.of(all.toArray()).with("PODMAN_IGNORE_CGROUPSV1_WARNING", "1");
        return Files.exists(config()) ? command.with("CONTAINERS_CONF", config()) : command;
    }

    /** Serves its Docker API at a socket, as podman.socket does; returns once it answers. */
    public Process serve(Path socket) {
        Process service =
                command("system", "service", "-t", 0, "unix://" + socket)
                        .log(directory.resolve("service.log"))
                        .start();
        Lab.await(() ->
                Files.exists(socket) || !service.isAlive() ? List.of() : List.of("no " + socket));
        return service;
    }

    /** Starts a container that sleeps, and returns when it runs, unless it was refused. */
    public Command.Result start(String name, Object... options) {
        List<Object> words = new ArrayList<>();
        words.addAll(List.of("run", "-d", "--name", name, "--network=none", "--stop-signal=KILL"));
        // Podman's own limits would need rights that a container's root may lack.
        words.addAll(List.of("--ulimit=nofile=1024:1024", "--ulimit=nproc=1000:1000"));
        words.addAll(Arrays.asList(options));
        words.addAll(List.of("plain", "sleep", "1000"));
        return command(words.toArray()).run();
    }

    public void remove(String... names) {
        List<Object> words = new ArrayList<>(List.of("rm", "-f", "--ignore", "-t", "0"));
        words.addAll(Arrays.asList(names));
        command(words.toArray()).run();
    }
}
