package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;

/** An engine for pods in directories of its own, called as by Kubernetes' kubelet. */
public final class PodEngine implements AutoCloseable {
    /** An image that sleeps, and has a shell. */
    public static final String IMAGE = "docker.io/library/pause:latest";

    private final Path directory = Directories.make("p");
    private final Kind kind;
    private final String path;
    private Optional<Process> process = Optional.empty();

    /** The engine and its release, with the configuration that differs between them. */
    public enum Kind {
        /** This machine's: 1.6 or 1.7, which knows no CDI devices. */
        CONTAINERD_1(
                """
                version = 2
                root = "DIR/root"
                state = "DIR/state"
                grpc.address = "DIR/s"
                [plugins."io.containerd.grpc.v1.cri"]
                  sandbox_image = "IMAGE"
                  restrict_oom_score_adj = true
                  [plugins."io.containerd.grpc.v1.cri".containerd]
                    snapshotter = "native"
                """),
        /** Debian sid's: 2.1 or later. */
        CONTAINERD_2(
                """
                version = 3
                imports = ["DIR/conf.d/*.toml"]
                root = "DIR/root"
                state = "DIR/state"
                grpc.address = "DIR/s"
                [plugins."io.containerd.cri.v1.images"]
                  snapshotter = "native"
                  [plugins."io.containerd.cri.v1.images".pinned_images]
                    sandbox = "IMAGE"
                [plugins."io.containerd.cri.v1.runtime"]
                  restrict_oom_score_adj = true
                  cdi_spec_dirs = ["DIR/cdi"]
                """),
        /** The one in {@code PATH}, with a podman that has the same storage, conmon and runc. */
        CRIO(
                """
                [crio]
                root = "DIR/root"
                runroot = "DIR/state"
                storage_driver = "vfs"
                log_dir = "DIR/logs"
                version_file = "DIR/version"
                version_file_persist = ""
                clean_shutdown_file = "DIR/clean"
                [crio.api]
                listen = "DIR/s"
                stream_address = "127.0.0.1"
                stream_port = "0"
                [crio.runtime]
                cgroup_manager = "cgroupfs"
                conmon_cgroup = "pod"
                default_runtime = "runc"
                namespaces_dir = "DIR/ns"
                container_exits_dir = "DIR/exits"
                container_attach_socket_dir = "DIR/attach"
                hooks_dir = []
                # Its own, and that which lets tests try all devices.
                default_capabilities = ["CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "SETGID",
                  "SETUID", "SETPCAP", "NET_BIND_SERVICE", "KILL", "MKNOD"]
                cdi_spec_dirs = ["DIR/cdi"]
                seccomp_profile = "unconfined"
                apparmor_profile = "unconfined"
                [crio.runtime.runtimes.runc]
                [crio.image]
                pause_image = "IMAGE"
                pause_command = ""
                signature_policy = "DIR/policy.json"
                [crio.network]
                network_dir = "DIR/cni"
                plugin_dirs = ["DIR/plugins"]
                [crio.nri]
                enable_nri = false
                """);

        private final String config;

        Kind(String config) {
            this.config = config;
        }

        /** The one that {@code PODS} in the environment names, by default containerd 2. */
        public static Kind wanted() {
            return valueOf(Objects.requireNonNullElse(System.getenv("PODS"), CONTAINERD_2.name()));
        }
    }

    /** One that is not started yet, with its configuration. */
    public PodEngine(Kind kind) throws IOException {
        this.kind = kind;
        String own = System.getenv("PATH");
        path = kind == Kind.CONTAINERD_2 ? newest() + ":" + own : own;
        Files.writeString(
                file(), kind.config.replace("DIR", directory.toString()).replace("IMAGE", IMAGE));
        Files.writeString(
                directory.resolve("policy.json"),
                "{\"default\": [{\"type\": \"insecureAcceptAnything\"}]}");
    }

    private static String newest() {
        return Command.of(Project.world("engine"), "programs").run().ok().out().strip();
    }

    private Path file() {
        return directory.resolve("config.toml");
    }

    private Path parts() {
        return directory.resolve("config.d");
    }

    /** Has it get our runtime as the handler {@code nvidia}. */
    public void installRuntime(Lab lab) {
        boolean crio = kind == Kind.CRIO;
        Command.Result installed =
                lab.jnvdocker(
                                "runtime",
                                "install",
                                "--engine=" + (crio ? "crio" : "containerd"),
                                "--config",
                                crio ? parts().resolve("jnvdocker.conf") : file(),
                                "--real",
                                Command.of("which", "runc").run().ok().out().strip(),
                                "--runtime-dir",
                                directory.resolve("runtime"))
                        .ok();
        if (kind == Kind.CONTAINERD_1) {
            addTo(file(), installed.out());
        }
    }

    /** Adds the lines that {@code runtime install} has printed for it, as an administrator does. */
    public static void addTo(Path file, String printed) {
        String lines =
                printed.lines()
                        .dropWhile(line -> !line.startsWith("add these lines to it"))
                        .skip(1)
                        .takeWhile(line -> line.startsWith("    "))
                        .collect(Collectors.joining("\n", "\n", "\n"));
        try {
            Files.writeString(file, lines, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The directory of its CDI files. */
    public Path cdi() {
        return directory.resolve("cdi");
    }

    /** One of its programs. */
    public Command program(Object... words) {
        return Command.of(words).after("env", "PATH=" + path);
    }

    /** Starts it, with the image, which that lab's engine makes. */
    public void start(Lab lab) throws IOException {
        lab.engine().image("pause", "--small", "--change", "CMD [\"sleep\", \"1000\"]");
        Path image = directory.resolve("pause.tar");
        lab.docker("save", "-o", image, "pause").ok();
        switch (kind) {
            case CONTAINERD_1, CONTAINERD_2 -> {
                launch("containerd", "--config", file());
                awaitSuccess("ctr", "-a", socket(), "-n", "k8s.io", "images", "import", image);
            }
            case CRIO -> {
                program(
                                "podman",
                                "--root",
                                directory.resolve("root"),
                                "--runroot",
                                directory.resolve("state"),
                                "--storage-driver=vfs",
                                "load",
                                "-i",
                                image)
                        .run()
                        .ok();
                launch("crio", "--config", file(), "--config-dir", parts());
                awaitSuccess("test", "-S", socket());
            }
        }
    }

    private void launch(Object... words) {
        process =
                Optional.of(
                        program(words)
                                .after("unshare", "-m", "--propagation", "slave")
                                .log(directory.resolve("log"))
                                .start());
    }

    private void awaitSuccess(Object... words) {
        Lab.await(() -> {
            Command.Result result = program(words).run();
            return result.exitCode() == 0 ? List.of() : List.of(result.toString());
        });
    }

    private Path socket() {
        return directory.resolve("s");
    }

    /** Calls it with the arguments of {@code worlds/cri}. */
    public Command.Result cri(Object... words) {
        List<Object> all = new ArrayList<>(List.of(Client.CRI.program(), socket()));
        all.addAll(Arrays.asList(words));
        return Command.of(all.toArray()).run();
    }

    @Override
    public void close() {
        process.ifPresent(it -> {
            it.destroy();
            it.onExit().join();
        });
        Directories.remove(directory);
    }
}
