package jnvdocker.daemon;

import jnvdocker.command.caller.Installation;
import jnvdocker.host.DeviceNodes;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.Journal;
import jnvdocker.posix.Posix;
import jnvdocker.posix.ServiceManager;
import jnvdocker.process.Processes;
import jnvdocker.protocol.ExitCode;
import jnvdocker.proxy.ProxyServer;

import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;

/**
 * {@code jnvdockerd}: runs the daemon until SIGTERM, SIGINT or {@code gpu uninstall}, or does what
 * its option requests.
 */
public final class Main {
    private static final List<String> MAKE_NODES = List.of("--make-nodes");
    private static final List<String> PROXY = List.of("--proxy");

    private Main() {}

    public static void main(String[] args) {
        System.exit(run(List.of(args), System.getenv(), System.out, System.err));
    }

    static int run(
            List<String> args, Map<String, String> environment, PrintStream out, PrintStream err) {
        if (args.equals(List.of("--version")) || args.equals(List.of("-v"))) {
            out.println("jnvdockerd " + version());
            return ExitCode.OK.code();
        }
        if (!args.isEmpty() && !args.equals(MAKE_NODES) && !args.equals(PROXY)) {
            err.println(
                    "jnvdocker: jnvdockerd takes no arguments but --version, --make-nodes or"
                            + " --proxy, not "
                            + args);
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
        if (Journal.of(environment.getOrDefault("JOURNAL_STREAM", "")).isPresent()) {
            // It has times of its own.
            System.setProperty("org.slf4j.simpleLogger.showDateTime", "false");
        }
        try {
            Directories directories = Directories.of(environment);
            if (args.equals(MAKE_NODES)) {
                makeNodes(directories, out);
            } else if (args.equals(PROXY)) {
                serveProxy(directories, environment);
            } else {
                HostNamespaces.check(Path.of("/proc"), environment);
                serve(directories, environment.getOrDefault("NOTIFY_SOCKET", ""));
            }
            return ExitCode.OK.code();
        } catch (IOException e) {
            err.println("jnvdocker: " + FileErrors.describe(e));
            if (debug) {
                e.printStackTrace(err);
            }
            return ExitCode.REFUSED.code();
        }
    }

    private static void makeNodes(Directories directories, PrintStream out) throws IOException {
        new NodeMaker(new DeviceNodes(directories.host()), out).run();
    }

    /** Runs until a signal ends the process, or a client stops the daemon. */
    private static void serve(Directories directories, String notifySocket) throws IOException {
        Daemon daemon = Daemon.start(directories, Features.of(Processes.ofThisMachine()));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(daemon), "stop"));
        new ServiceManager(notifySocket).ready();
        try {
            daemon.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Runs until a signal ends the process. */
    private static void serveProxy(Directories directories, Map<String, String> environment)
            throws IOException {
        ProxyServer proxy =
                ProxyServer.listen(
                        directories.proxySocket(),
                        environment.getOrDefault("JNVDOCKER_PROXY_GROUP", ""),
                        new ProxyServer.Ends(
                                directories.dockerSocket(),
                                Installation.thisTree().resolve("bin/jnvdocker")));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(proxy), "stop"));
        new ServiceManager(environment.getOrDefault("NOTIFY_SOCKET", "")).ready();
        try {
            new CountDownLatch(1).await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Exits with 0, too. */
    private static void stop(ProxyServer proxy) {
        try {
            proxy.close();
        } catch (IOException e) {
            LoggerFactory.getLogger(Main.class).warn("cannot remove the socket", e);
        }
        Runtime.getRuntime().halt(ExitCode.OK.code());
    }

    /** Exits with 0 on SIGTERM, where Java alone would exit with 143, as if it had failed. */
    private static void stop(Daemon daemon) {
        daemon.close();
        LoggerFactory.getLogger(Main.class).info("stopped");
        ClassArchive.write(System.getProperty("jnvdocker.archive", ""));
        Runtime.getRuntime().halt(ExitCode.OK.code());
    }

    /** Returns our version, as written by the build. */
    static String version() {
        Properties properties = new Properties();
        try (InputStream in = Main.class.getResourceAsStream("/jnvdocker/version.properties")) {
            properties.load(in);
        } catch (IOException e) {
            throw new IllegalStateException("the jar has no version.properties", e);
        }
        return properties.getProperty("version");
    }
}
