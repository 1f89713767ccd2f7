package jnvdocker.tests.world;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/** A containerd in directories of its own, asked as Kubernetes' kubelet does. */
public final class TestContainerd implements AutoCloseable {
    /** An image that sleeps, and has a shell. */
    public static final String IMAGE = "docker.io/library/pause:latest";

    private final Path folder = Folders.make("p");
    private final String path;
    private Optional<Process> process = Optional.empty();

    /** Its release, with the configuration that differs between them. */
    public enum Release {
        /** This machine's: 1.6 or 1.7. */
        INSTALLED(
                """
                version = 2
                [plugins."io.containerd.grpc.v1.cri"]
                  sandbox_image = "IMAGE"
                  restrict_oom_score_adj = true
                  [plugins."io.containerd.grpc.v1.cri".containerd]
                    snapshotter = "native"
                """),
        /** Debian sid's: 2.1 or later. */
        NEWEST(
                """
                version = 3
                [plugins."io.containerd.cri.v1.images"]
                  snapshotter = "native"
                  [plugins."io.containerd.cri.v1.images".pinned_images]
                    sandbox = "IMAGE"
                [plugins."io.containerd.cri.v1.runtime"]
                  restrict_oom_score_adj = true
                  cdi_spec_dirs = ["DIR/cdi"]
                """);

        private final String config;

        Release(String config) {
            this.config = config;
        }

        /** The release that {@code CONTAINERD} in the environment names, by default the newest. */
        public static Release wanted() {
            return valueOf(Objects.requireNonNullElse(System.getenv("CONTAINERD"), NEWEST.name()));
        }
    }

    /** One that is not started yet, with its configuration. */
    public TestContainerd(Release release) throws IOException {
        String own = System.getenv("PATH");
        path = release == Release.INSTALLED ? own : newest() + ":" + own;
        String common = "root = \"DIR/root\"\nstate = \"DIR/state\"\ngrpc.address = \"DIR/s\"\n";
        Files.writeString(
                config(),
                release.config
                        .replaceFirst("\n", "\n" + common)
                        .replace("DIR", folder.toString())
                        .replace("IMAGE", IMAGE));
    }

    private static String newest() {
        return Command.of(Project.world("engine"), "programs").run().ok().out().strip();
    }

    /** Where it looks for CDI files; 1.6 looks for none. */
    public Path cdi() {
        return folder.resolve("cdi");
    }

    /** One of its programs. */
    private Command program(String name, Object... words) {
        return Command.of(words).after("env", "PATH=" + path, name);
    }

    public Path config() {
        return folder.resolve("config.toml");
    }

    public Path folder() {
        return folder;
    }

    /** Starts it, with the image, which that lab's engine makes. */
    public void start(Lab lab) throws IOException {
        process =
                Optional.of(
                        program("containerd", "--config", config())
                                .after("unshare", "-m", "--propagation", "slave")
                                .log(folder.resolve("log"))
                                .start());
        lab.engine().image("pause", "--small", "--change", "CMD [\"sleep\", \"1000\"]");
        Path image = folder.resolve("pause.tar");
        lab.docker("save", "-o", image, "pause").ok();
        Lab.await(() -> {
            Command.Result imported =
                    program(
                                    "ctr",
                                    "-a",
                                    folder.resolve("s"),
                                    "-n",
                                    "k8s.io",
                                    "images",
                                    "import",
                                    image)
                            .run();
            return imported.exitCode() == 0 ? List.of() : List.of(imported.toString());
        });
    }

    /** Asks it; {@code worlds/cri} knows the words. */
    public Command.Result cri(Object... words) {
        List<Object> all = new ArrayList<>(List.of(Client.CRI.program(), folder.resolve("s")));
        all.addAll(Arrays.asList(words));
        return Command.of(all.toArray()).run();
    }

    @Override
    public void close() {
        process.ifPresent(it -> {
            it.destroy();
            it.onExit().join();
        });
        Folders.remove(folder);
    }
}
