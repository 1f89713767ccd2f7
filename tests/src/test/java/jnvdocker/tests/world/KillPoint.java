package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * A point in a process's writes to the registry's files ({@code registry.db} and those beside it)
 * at which the process is killed, or from which on its disk fails. Every call that writes,
 * truncates, syncs or removes one of them counts, beginning with 1. Or a point in its talk over a
 * socket.
 *
 * <p>Its {@link #environment} is for a process that the test starts itself, for example by {@link
 * TestDaemon#jnvdockerd}: a client would not pass it on to the daemon that it starts.
 */
public final class KillPoint implements AutoCloseable {
    private final Path directory = Directories.make("killpoint");
    private final Path count = directory.resolve("count");
    private final Path switchFile = directory.resolve("on");
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

    /** Only counts the calls. */
    public static KillPoint never() {
        return new KillPoint();
    }

    /** Kills the process in place of the call. */
    public static KillPoint before(int call) {
        return never().with("KILLPOINT_AT", call);
    }

    /** Like {@link #before}, but if the call is a write, the first half of its bytes is written. */
    public static KillPoint amid(int call) {
        return before(call).with("KILLPOINT_TORN", 1);
    }

    /** Fails this call and all later ones. */
    public static KillPoint failingFrom(int call, DiskError error) {
        return never().with("KILLPOINT_ERROR", call + ":" + error.errno);
    }

    /** Fails this call only. */
    public static KillPoint failingAt(int call, DiskError error) {
        return never().with("KILLPOINT_ERROR", call + ":" + error.errno + ":1");
    }

    /**
     * Kills the process at that moment of its talk over the socket, whether it connects to the
     * socket or listens there: there is one moment before and one after each call that writes or
     * reads. Moment 0 never comes.
     */
    public static KillPoint talking(Path socket, int moment) {
        return before(moment).with("KILLPOINT_SOCKET", socket);
    }

    /** Counts no calls before {@link #turnOn}. */
    public KillPoint turnedOff() {
        return with("KILLPOINT_SWITCH", switchFile);
    }

    /** Makes the next call the first. */
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

    /** The number of calls so far, including the one at which the process was killed. */
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
        Directories.remove(directory);
    }
}
