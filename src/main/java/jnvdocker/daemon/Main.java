package jnvdocker.daemon;

import jnvdocker.posix.FileErrors;
import jnvdocker.posix.Posix;
import jnvdocker.protocol.ExitCode;

import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;

/** {@code jnvdockerd}: runs the daemon until SIGTERM or SIGINT. */
public final class Main {
    private Main() {}

    public static void main(String[] args) {
        int code = run(List.of(args), System.getenv(), System.out, System.err);
        if (code != 0) {
            System.exit(code);
        }
    }

    static int run(
            List<String> args, Map<String, String> environment, PrintStream out, PrintStream err) {
        if (args.equals(List.of("--version")) || args.equals(List.of("-v"))) {
            out.println("jnvdockerd " + version());
            return ExitCode.OK.code();
        }
        if (!args.isEmpty()) {
            err.println("jnvdocker: jnvdockerd takes no arguments but --version, not " + args);
            return ExitCode.USAGE.code();
        }
        if (Posix.effectiveUser() != 0) {
            err.println("jnvdocker: jnvdockerd must run as root; start it with sudo");
            return ExitCode.REFUSED.code();
        }
        boolean debug =
                !environment.getOrDefault("JNVDOCKER_DEBUG", "").isEmpty()
                        || !environment.getOrDefault("NV_DEBUG", "").isEmpty();
        System.setProperty("org.slf4j.simpleLogger.log.jnvdocker", debug ? "debug" : "info");
        return serve(environment, err, debug);
    }

    private static int serve(Map<String, String> environment, PrintStream err, boolean debug) {
        try {
            Daemon daemon = Daemon.start(Folders.of(environment));
            Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(daemon), "stop"));
            new CountDownLatch(1).await();
            return ExitCode.OK.code();
        } catch (IOException e) {
            err.println("jnvdocker: " + FileErrors.describe(e));
            if (debug) {
                e.printStackTrace(err);
            }
            return ExitCode.REFUSED.code();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return ExitCode.REFUSED.code();
        }
    }

    /** Ends with 0 on SIGTERM, where Java alone would end with 143 and look like a failure. */
    private static void stop(Daemon daemon) {
        daemon.close();
        LoggerFactory.getLogger(Main.class).info("stopped");
        Runtime.getRuntime().halt(ExitCode.OK.code());
    }

    /** Ours, as the build wrote it. */
    private static String version() {
        Properties properties = new Properties();
        try (InputStream in = Main.class.getResourceAsStream("/jnvdocker/version.properties")) {
            properties.load(in);
        } catch (IOException e) {
            throw new IllegalStateException("the jar has no version.properties", e);
        }
        return properties.getProperty("version");
    }
}
