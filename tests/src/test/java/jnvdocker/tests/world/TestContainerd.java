package jnvdocker.tests.world;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** A containerd of this machine in directories of its own, asked as Kubernetes' kubelet does. */
public final class TestContainerd implements AutoCloseable {
    /** An image that sleeps, and has a shell. */
    public static final String IMAGE = "docker.io/library/pause:latest";

    private final Path folder = Folders.make("p");
    private Optional<Process> process = Optional.empty();

    /** One that is not started yet, with its configuration. */
    public TestContainerd() throws IOException {
        Files.writeString(
                config(),
                """
                version = 2
                root = "DIR/root"
                state = "DIR/state"
                [grpc]
                  address = "DIR/s"
                [plugins."io.containerd.grpc.v1.cri"]
                  sandbox_image = "IMAGE"
                  restrict_oom_score_adj = true
                  [plugins."io.containerd.grpc.v1.cri".containerd]
                    snapshotter = "native"
                """
                        .replace("DIR", folder.toString())
                        .replace("IMAGE", IMAGE));
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
                        Command.of("containerd", "--config", config())
                                .after("unshare", "-m", "--propagation", "slave")
                                .log(folder.resolve("log"))
                                .start());
        lab.engine().image("pause", "--small", "--change", "CMD [\"sleep\", \"1000\"]");
        Path image = folder.resolve("pause.tar");
        lab.docker("save", "-o", image, "pause").ok();
        Lab.await(() -> {
            Command.Result imported =
                    Command.of(
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
