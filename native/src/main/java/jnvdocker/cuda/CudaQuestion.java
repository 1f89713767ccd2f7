package jnvdocker.cuda;

import com.sun.jna.ptr.IntByReference;

/**
 * The child process in which libcuda is loaded: {@code CudaQuestion FILE SECONDS}. It lives at most
 * that many seconds and prints one line that {@link CudaDriver} understands.
 */
final class CudaQuestion {
    static final String ANSWER = "cuDriverGetVersion: ";
    static final String FAILURE = "failed: ";

    private CudaQuestion() {}

    public static void main(String[] args) {
        System.exit(run(args[0], Integer.parseInt(args[1])));
    }

    private static int run(String file, int seconds) {
        Alarm.INSTANCE.alarm(seconds);
        IntByReference version = new IntByReference();
        int result;
        try {
            result = LibCuda.load(file).cuDriverGetVersion(version);
        } catch (UnsatisfiedLinkError e) {
            return say(FAILURE + reason(e, file), 1);
        }
        if (result != LibCuda.SUCCESS) {
            return say(FAILURE + "cuDriverGetVersion returns error " + result, 1);
        }
        return say(ANSWER + version.getValue(), 0);
    }

    /**
     * Returns the loader's own message, which begins with the file; JNA appends where else it has
     * looked.
     */
    private static String reason(UnsatisfiedLinkError e, String file) {
        Throwable first = e.getSuppressed().length == 0 ? e : e.getSuppressed()[0];
        return first.getMessage().lines().findFirst().orElse("").replace(file + ": ", "");
    }

    /** Prints on a line of its own, whatever the library has printed. */
    private static int say(String line, int exitCode) {
        System.out.print("\n" + line + "\n");
        System.out.flush();
        return exitCode;
    }
}
