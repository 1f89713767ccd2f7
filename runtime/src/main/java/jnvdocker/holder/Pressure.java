package jnvdocker.holder;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * How long processes of this machine have had to wait, in microseconds since the boot, by the
 * kernel's account of that ({@code /proc/pressure}). All of them are zero where there is none.
 *
 * @param cpu for a processor
 * @param memory for memory
 * @param io for disks
 */
public record Pressure(long cpu, long memory, long io) {
    /** That of a machine which keeps no account. */
    public static final Pressure NONE = new Pressure(0, 0, 0);

    private static final Path DIRECTORY = Path.of("/proc/pressure");

    /** Ends the line of the time in which at least one process has waited. */
    private static final Pattern SOME = Pattern.compile("(?m)^some .*total=([0-9]{1,18})$");

    private static final int MICRO = 1000;

    static Pressure now() {
        return new Pressure(read("cpu"), read("memory"), read("io"));
    }

    private static long read(String resource) {
        try {
            Matcher some = SOME.matcher(Files.readString(DIRECTORY.resolve(resource)));
            return some.find() ? Long.parseLong(some.group(1)) : 0;
        } catch (IOException e) {
            return 0;
        }
    }

    /** For how many nanoseconds processes have waited since then, for what they lacked most. */
    long since(Pressure before) {
        return MICRO * Math.max(cpu - before.cpu, Math.max(memory - before.memory, io - before.io));
    }
}
