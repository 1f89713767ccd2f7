package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** A container that was launched by a {@link MesosAgent}. */
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

    /** Its id, behind that of its parent and a slash if it has one. */
    public String path() {
        return path;
    }

    /** Where the agent keeps what it knows of it. */
    public Path runtime() {
        return agent.runtime(path);
    }

    /** Where it writes to, which stays when it is gone. */
    Path sandbox() {
        return sandbox;
    }

    /** Puts an empty file there, for the container to see. */
    public void writeToSandbox(String file) {
        try {
            Files.writeString(sandbox.resolve(file), "");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The process that the agent has started it with: the helper. */
    public long pid() {
        try {
            return Long.parseLong(Files.readString(runtime().resolve("pid")).strip());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Of the controller of that name, whether or not there is one. */
    public Path cgroup(String controller) {
        return Path.of("/sys/fs/cgroup", controller, agent.cgroupsRoot())
                .resolve(path.replace("/", "/mesos/"));
    }

    /** Launches one that is nested in it. */
    public MesosContainer nested(MesosTask task) {
        return agent.launch(task.direct(), this);
    }

    /** Launches a health check of it, or a session in it. */
    public MesosContainer debug(String command) {
        return agent.launch(MesosTask.of(command).direct().debug(), this);
    }

    /** What it has written so far. */
    public String out() {
        return read("stdout");
    }

    /** The same, with what the helper and the hook have said of its launch. */
    public String err() {
        return read("stderr");
    }

    /** Waits until it is gone, with all that the agent has kept of it but its sandbox. */
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

    /** Waits until that is in what was said of its launch. */
    public MesosContainer awaitRemark(String part) {
        return await("hear " + part, () -> err().contains(part));
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
        agent.command("kill", agent.folder(), path).run().ok();
        return await();
    }

    /** Whether nothing of the agent sees to it any more, now or in a moment. */
    boolean isGoneSoon() {
        try {
            return supervisor.waitFor(200, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    Process supervisor() {
        return supervisor;
    }

    /** Another process of the agent sees to it from now on. */
    void supervisedBy(Process other) {
        supervisor = other;
    }

    private String read(String stream) {
        try {
            return Files.readString(sandbox.resolve(stream));
        } catch (NoSuchFileException e) {
            return ""; // it has not come that far
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
