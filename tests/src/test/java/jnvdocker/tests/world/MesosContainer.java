package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** A container launched by a {@link MesosAgent}. */
public final class MesosContainer {
    private static final int LIMIT_SECONDS = 120;

    private final MesosAgent agent;
    private final String path;
    private final Path sandbox;
    private volatile Process supervisor;

    MesosContainer(MesosAgent agent, String path, Path sandbox, Process supervisor) {
        this.agent = agent;
        this.path = path;
        this.sandbox = sandbox;
        this.supervisor = supervisor;
    }

    /** Its own id, without that of its parent. */
    public String id() {
        return path.substring(path.lastIndexOf('/') + 1);
    }

    /** Its id, preceded by that of its parent and a slash if it has one. */
    public String path() {
        return path;
    }

    /** The agent's runtime directory of it. */
    public Path runtime() {
        return agent.runtime(path);
    }

    /** Its output directory, which is kept when it is gone. */
    Path sandbox() {
        return sandbox;
    }

    /** Puts an empty file there, visible in the container. */
    public void writeToSandbox(String file) {
        try {
            Files.writeString(sandbox.resolve(file), "");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The pid of the helper that the agent started for it. */
    public long pid() {
        try {
            return Long.parseLong(Files.readString(runtime().resolve("pid")).strip());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Its cgroup in that controller, whether or not it exists. */
    public Path cgroup(String controller) {
        return Path.of("/sys/fs/cgroup", controller, agent.cgroupsRoot())
                .resolve(path.replace("/", "/mesos/"));
    }

    /** Launches a container nested in it. */
    public MesosContainer nested(MesosTask task) {
        return agent.launch(task.direct(), this);
    }

    /** Launches a health check or a session in it. */
    public MesosContainer debug(String command) {
        return agent.launch(MesosTask.of(command).direct().debug(), this);
    }

    /** Its output so far. */
    public String out() {
        return read("stdout");
    }

    /** Its errors so far, with the messages of the helper and the hook about its launch. */
    public String err() {
        return read("stderr");
    }

    /** Waits until it is gone, with all of the agent's data about it but the sandbox. */
    public Command.Result await() {
        try {
            if (!supervisor.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
                throw new AssertionError(path + " does not end\n" + out() + err());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
        return new Command.Result(supervisor.exitValue(), out(), err());
    }

    /** Waits until it has written that line. */
    public MesosContainer awaitLine(String line) {
        return await("say " + line, () -> out().lines().anyMatch(line::equals));
    }

    /** Waits until the messages about its launch contain that. */
    public MesosContainer awaitRemark(String part) {
        return await("receive " + part, () -> err().contains(part));
    }

    private MesosContainer await(String what, BooleanSupplier done) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
        while (!done.getAsBoolean()) {
            if (!supervisor.isAlive() || System.nanoTime() > end) {
                if (done.getAsBoolean()) {
                    break;
                }
                throw new AssertionError(path + " did not " + what + "\n" + out() + err());
            }
            LockSupport.parkNanos(5_000_000);
        }
        return this;
    }

    /** Ends its processes, and waits until it is gone. */
    public Command.Result kill() {
        agent.command("kill", agent.directory(), path).run().ok();
        return await();
    }

    /** Whether no process of the agent supervises it any longer, now or within 200 ms. */
    boolean isGoneSoon() {
        try {
            return supervisor.waitFor(200, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    /** Whether a process of the agent supervises it: the one that launched it, or a later one. */
    public boolean isSupervised() {
        return supervisor.isAlive();
    }

    Process supervisor() {
        return supervisor;
    }

    /** Makes another process of the agent supervise it from now on. */
    void supervisedBy(Process other) {
        supervisor = other;
    }

    private String read(String stream) {
        try {
            return Files.readString(sandbox.resolve(stream));
        } catch (NoSuchFileException e) {
            return ""; // not yet written
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
