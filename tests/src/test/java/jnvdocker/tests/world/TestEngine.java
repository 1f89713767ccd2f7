package jnvdocker.tests.world;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A real Docker engine with folders, socket and plugins of its own. */
public final class TestEngine implements AutoCloseable {
    private final Path folder = Folders.make("engine");

    public TestEngine() {
        try {
            Command.of(Project.world("engine"), "start", folder).run().ok();
        } catch (AssertionError e) {
            close();
            throw e;
        }
    }

    public Path socket() {
        return folder.resolve("docker.sock");
    }

    public String url() {
        return "unix://" + socket();
    }

    /** Where this engine looks for plugins' sockets. */
    public Path plugins() {
        return folder.resolve("plugins");
    }

    /** Makes a glibc image. The options are those of {@code tests/worlds/image}. */
    public void image(String tag, String... options) {
        List<Object> words = new ArrayList<>(List.of(Project.world("image"), socket(), tag));
        words.addAll(Arrays.asList(options));
        Command.of(words.toArray()).run().ok();
    }

    /** Docker itself, talking to this engine. */
    public Command docker(Object... arguments) {
        List<Object> words = new ArrayList<>(List.of("docker"));
        words.addAll(Arrays.asList(arguments));
        return Command.of(words.toArray()).with("DOCKER_HOST", url());
    }

    /** Stops and starts it, as {@code systemctl restart docker} does. */
    public void restart() {
        Command.of(Project.world("engine"), "restart", folder).run().ok();
    }

    /** Removes every container, running or not. */
    public void removeContainers() {
        docker("ps", "-aq")
                .run()
                .ok()
                .out()
                .lines()
                .forEach(id -> docker("rm", "-f", id).run().ok());
    }

    /** Ends it; its images stay. */
    public void stop() {
        Command.of(Project.world("engine"), "stop", folder).run().ok();
    }

    @Override
    public void close() {
        stop();
        Folders.remove(folder);
    }
}
