package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * A point in what a process writes to the registry's files ({@code registry.db} and those beside
 * it) at which it is killed, or from which on its disk fails. Every call by which it writes,
 * truncates, syncs or removes one counts, beginning with 1. Or a point in its talk over a socket.
 *
 * <p>Its {@link #environment} is for a process that the test starts itself, {@link
 * TestDaemon#jnvdockerd} for example: a client would keep it from the daemon that it starts.
 */
public final class KillPoint implements AutoCloseable {
    private final Path folder = Folders.make("killpoint");
    private final Path count = folder.resolve("count");
    private final Path switchFile = folder.resolve("on");
    private final Map<String, String> environment = new HashMap<>();

    /** How a disk fails. */
    public enum DiskError {
        IO_ERROR(5),
        FULL(28),
        READ_ONLY(30);

        private final int errno;

        DiskError(int errno) {
            this.errno = errno;
        }
    }

    private KillPoint() {
        String library = Command.of(Project.world("killpoint")).run().ok().out().strip();
        environment.put("LD_PRELOAD", library);
        environment.put("KILLPOINT_COUNT", count.toString());
    }

    /** Nothing happens to the process; the calls are counted. */
    public static KillPoint never() {
        return new KillPoint();
    }

    /** The process is killed at once instead of the call being made. */
    public static KillPoint before(int call) {
        return never().with("KILLPOINT_AT", call);
    }

    /** As before it, but if the call is a write, the first half of its bytes gets written. */
    public static KillPoint amid(int call) {
        return before(call).with("KILLPOINT_TORN", 1);
    }

    /** This call and all later ones fail. */
    public static KillPoint failingFrom(int call, DiskError error) {
        return never().with("KILLPOINT_ERROR", call + ":" + error.errno);
    }

    /** This call fails, and no other. */
    public static KillPoint failingAt(int call, DiskError error) {
        return never().with("KILLPOINT_ERROR", call + ":" + error.errno + ":1");
    }

    /**
     * The process is killed at that moment of its talk with what listens at the socket, or with
     * those who ask it there: there is one before and one after each call by which it writes or
     * reads. At moment 0 it is not.
     */
    public static KillPoint talking(Path socket, int moment) {
        return before(moment).with("KILLPOINT_SOCKET", socket);
    }

    /** No call counts before {@link #turnOn}. */
    public KillPoint turnedOff() {
        return with("KILLPOINT_SWITCH", switchFile);
    }

    /** The next call is the first. */
    public void turnOn() {
        try {
            Files.createFile(switchFile);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private KillPoint with(String variable, Object value) {
        environment.put(variable, value.toString());
        return this;
    }

    public Map<String, String> environment() {
        return Map.copyOf(environment);
    }

    /** How many calls the process has made so far, the one at which it was killed included. */
    public int calls() {
        try {
            return Integer.parseInt(Files.readString(count).strip());
        } catch (NoSuchFileException e) {
            return 0;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        Folders.remove(folder);
    }
}
