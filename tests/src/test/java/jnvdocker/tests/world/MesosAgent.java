package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A Mesos agent that has our hook for its launcher folder: what a real one does around the helper
 * is done by {@code tests/worlds/mesos-agent}, and what is launched is a real container.
 */
public final class MesosAgent implements AutoCloseable {
    private final Path folder = Folders.make("mesos");
    private final LauncherFolder launcher;
    private final List<MesosContainer> containers = new CopyOnWriteArrayList<>();
    private final AtomicInteger launched = new AtomicInteger();

    /**
     * @param socket where the hook asks the daemon
     */
    public MesosAgent(Path socket) {
        try {
            Path libexec = Files.createDirectory(folder.resolve("libexec"));
            Files.createSymbolicLink(
                    libexec.resolve("mesos-containerizer"), Project.world("mesos-helper"));
            Files.createSymbolicLink(
                    libexec.resolve("mesos-executor"), Project.world("mesos-executor"));
            launcher = LauncherFolder.install(folder.resolve("launcher"), libexec, socket);
            Files.createDirectories(folder.resolve("run/containers"));
            unpackImage();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Its launcher folder, its helpers (in {@code libexec}), and all that it keeps. */
    public Path folder() {
        return folder;
    }

    public LauncherFolder launcher() {
        return launcher;
    }

    /** What its containers' cgroups are in, of each controller. */
    public String cgroupsRoot() {
        return folder.getFileName().toString();
    }

    /** The files of the image that every task has; they may be changed before the first launch. */
    public Path image() {
        return folder.resolve("image");
    }

    /** Launches it and does not wait for anything. */
    public MesosContainer launch(MesosTask task) {
        return launch(task, null);
    }

    /** Launches it, and waits until it is gone. */
    public Command.Result run(MesosTask task) {
        return launch(task).await();
    }

    MesosContainer launch(MesosTask task, MesosContainer parent) {
        String id =
                "%08x-0000-4000-8000-%012x"
                        .formatted(ProcessHandle.current().pid(), launched.incrementAndGet());
        String path = parent == null ? id : parent.path() + "/" + id;
        prepare(path, task);
        Object[] words = {"launch", folder, path};
        Command command = command(words);
        if (task.hasImage()) {
            command = more(command, "--image", image());
        }
        command = more(command, task.options().toArray());
        MesosContainer container =
                new MesosContainer(this, path, command.log(folder.resolve("log")).start());
        containers.add(container);
        return container;
    }

    /** Kills the agent, which its containers outlive. */
    public void kill() throws InterruptedException {
        for (MesosContainer container : containers) {
            container.supervisor().destroyForcibly().waitFor();
        }
    }

    /** Starts it again: it sees to those that are left, and removes what is left of the others. */
    public void recover() {
        for (MesosContainer container : containers) {
            if (Files.exists(container.runtime())) {
                container.supervisedBy(
                        command("recover", folder, container.path())
                                .log(folder.resolve("log"))
                                .start());
            }
        }
    }

    Path runtime(String path) {
        return folder.resolve("run/containers").resolve(path.replace("/", "/containers/"));
    }

    Path sandbox(String path) {
        return folder.resolve("sandboxes").resolve(path);
    }

    Command command(Object... words) {
        return Command.of(words).after(Project.world("mesos-agent"));
    }

    private static Command more(Command command, Object... words) {
        return Command.of(words).after(command.words().toArray());
    }

    private void prepare(String path, MesosTask task) {
        Path runtime = runtime(path);
        Path sandbox = sandbox(path);
        Path rootfs = folder.resolve("rootfs").resolve(path);
        MesosLaunchInfo info =
                new MesosLaunchInfo(task, launcher.folder(), runtime, sandbox, rootfs);
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

    private void clear() {
        command("clear", folder).run().ok();
    }

    private void unpackImage() throws IOException {
        Files.createDirectory(image());
        String tar = Command.of(Project.world("rootfs"), "--small").run().ok().out().strip();
        Command.of("tar", "-x", "-C", image(), "-f", tar).run().ok();
    }

    /** Ends all that it has launched. */
    @Override
    public void close() {
        for (MesosContainer container : containers) {
            // One that is just being launched may escape the first time.
            do {
                clear();
            } while (!container.isGoneSoon());
        }
        clear();
        Folders.remove(folder);
    }
}
