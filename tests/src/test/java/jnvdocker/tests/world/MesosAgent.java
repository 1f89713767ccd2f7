package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;

/**
 * A Mesos agent with our hook as its launcher directory: {@code tests/worlds/mesos-agent} does a
 * real agent's work around the helper, and the launched containers are real.
 */
public final class MesosAgent implements AutoCloseable {
    /** Part of a work_dir: the names of tasks are read from this path. */
    private static final String SANDBOXES = "slaves/S0/frameworks/F0/executors";

    private final Path directory = Directories.make("mesos");
    private final LauncherDirectory launcher;
    private final List<MesosContainer> containers = new CopyOnWriteArrayList<>();
    private final AtomicInteger launched = new AtomicInteger();

    /**
     * @param socket on which the hook queries the daemon
     */
    public MesosAgent(Path socket) {
        this((directory, libexec) -> LauncherDirectory.install(directory, libexec, socket));
    }

    /** An agent that is set up by {@code jnvdocker mesos install}. */
    public static MesosAgent installedBy(TestDaemon daemon) {
        return new MesosAgent((directory, libexec) -> {
            Object[] words = {
                "mesos", "install", "--launcher-dir", directory, "--mesos-libexec", libexec
            };
            daemon.jnvdocker(words).run().ok();
            return new LauncherDirectory(directory);
        });
    }

    private MesosAgent(BiFunction<Path, Path, LauncherDirectory> install) {
        try {
            Path libexec = Files.createDirectory(directory.resolve("libexec"));
            Files.createSymbolicLink(
                    libexec.resolve("mesos-containerizer"), Project.world("mesos-helper"));
            Files.createSymbolicLink(
                    libexec.resolve("mesos-executor"), Project.world("mesos-executor"));
            Files.createSymbolicLink(libexec.resolve("mesos-default-executor"), Path.of("/bin/sh"));
            launcher = install.apply(directory.resolve("launcher"), libexec);
            Files.createDirectories(directory.resolve("run/containers"));
            unpackImage();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * The agent's directory, with the launcher directory, the helpers (in {@code libexec}) and all
     * its data.
     */
    public Path directory() {
        return directory;
    }

    public LauncherDirectory launcher() {
        return launcher;
    }

    /** The parent cgroup of its containers, in each controller. */
    public String cgroupsRoot() {
        return directory.getFileName().toString();
    }

    /** The files of every task's image, which may be changed before the first launch. */
    public Path image() {
        return directory.resolve("image");
    }

    /** Launches a task and does not wait. */
    public MesosContainer launch(MesosTask task) {
        return launch(task, null);
    }

    /** Launches a task, and waits until it is gone. */
    public Command.Result run(MesosTask task) {
        return launch(task).await();
    }

    /** Writes a launch's files without launching, for a caller that does so itself. */
    public MesosContainer prepare(MesosTask task) {
        String id = nextId();
        Path sandbox = sandbox(task, id);
        prepare(id, sandbox, directory.resolve("rootfs").resolve(id), task);
        return new MesosContainer(this, id, sandbox, null);
    }

    private String nextId() {
        return "%08x-0000-4000-8000-%s".formatted(launched.incrementAndGet(), Project.RUN);
    }

    private Path sandbox(MesosTask task, String id) {
        return directory.resolve(SANDBOXES).resolve(task.name()).resolve("runs").resolve(id);
    }

    MesosContainer launch(MesosTask task, MesosContainer parent) {
        String id = nextId();
        String path = parent == null ? id : parent.path() + "/" + id;
        Path sandbox =
                parent == null
                        ? sandbox(task, id)
                        : parent.sandbox().resolve("containers").resolve(id);
        Path rootfs = directory.resolve("rootfs").resolve(task.isDebug() ? parent.path() : path);
        prepare(path, sandbox, rootfs, task);
        Object[] words = {"launch", directory, path, "--sandbox", sandbox};
        Command command = command(words);
        if (task.isDebug()) {
            command = more(command, "--debug", parent.pid());
        } else if (task.hasImage()) {
            command = more(command, "--image", task.files().orElse(image()));
        }
        command = more(command, task.options().toArray());
        MesosContainer container =
                new MesosContainer(
                        this, path, sandbox, command.log(directory.resolve("log")).start());
        containers.add(container);
        return container;
    }

    /** Kills the agent, while its containers live on. */
    public void kill() throws InterruptedException {
        for (MesosContainer container : containers) {
            container.supervisor().destroyForcibly().waitFor();
        }
    }

    /**
     * Starts the agent again: it supervises the live containers, and cleans up after the others.
     */
    public void recover() {
        for (MesosContainer container : containers) {
            if (Files.exists(container.runtime())) {
                container.supervisedBy(
                        command("recover", directory, container.path())
                                .log(directory.resolve("log"))
                                .start());
            }
        }
    }

    Path runtime(String path) {
        return directory.resolve("run/containers").resolve(path.replace("/", "/containers/"));
    }

    Command command(Object... words) {
        return Command.of(words).after(Project.world("mesos-agent"));
    }

    private static Command more(Command command, Object... words) {
        return Command.of(words).after(command.words().toArray());
    }

    private void prepare(String path, Path sandbox, Path rootfs, MesosTask task) {
        Path runtime = runtime(path);
        MesosLaunchInfo info =
                new MesosLaunchInfo(task, launcher.directory(), runtime, sandbox, rootfs);
        boolean isCommand = task.executor() == MesosTask.Executor.COMMAND;
        try {
            Files.createDirectories(runtime);
            Files.createDirectories(sandbox);
            Files.write(
                    runtime.resolve("config"),
                    MesosConfig.of(task, sandbox.toString(), rootfs.toString(), isCommand));
            Files.writeString(runtime.resolve("launch_info"), info.text());
            if (isCommand) {
                Files.writeString(sandbox.resolve("task.json"), info.task());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A copy of the image, for tasks that need a changed one. */
    public Path imageLike(String name) {
        Path copy = directory.resolve(name);
        Command.of("cp", "-a", image(), copy).run().ok();
        return copy;
    }

    /** Ends all its containers. */
    public void clear() {
        for (MesosContainer container : containers) {
            // A container that is just being launched may escape the first time.
            do {
                endAll();
            } while (!container.isGoneSoon());
        }
        containers.clear();
        endAll();
    }

    private void endAll() {
        command("clear", directory).run().ok();
    }

    private void unpackImage() throws IOException {
        Files.createDirectory(image());
        String tar = Command.of(Project.world("rootfs"), "--small").run().ok().out().strip();
        Command.of("tar", "-x", "-C", image(), "-f", tar).run().ok();
    }

    /** Ends all its containers. */
    @Override
    public void close() {
        clear();
        Directories.remove(directory);
    }
}
