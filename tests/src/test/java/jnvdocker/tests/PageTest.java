package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Browser;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.FakeNvml;
import jnvdocker.tests.world.LoopbackPort;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.SshServer;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;

/** The page in a real browser, through a real ssh; and what belongs to it. */
@Tag("root")
@Tag("tree")
class PageTest {
    private static final Path PAGE = Project.root().resolve("src/main/page");
    private static final int MOST_BYTES = 150 << 10;

    /** A user of Debian's, whose group may use the daemon here; nobody is in no such group. */
    private static final String MEMBER = "games";

    private static DriverRoot host;
    private static FakeNvml nvml;
    private static TestDaemon daemon;
    private static int port;

    @BeforeAll
    static void start() throws Exception {
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535, 8);
        nvml = FakeNvml.of(host, "a100x8");
        daemon = new TestDaemon(host);
        port = LoopbackPort.free().getPort();
        daemon.config(
                "socket_group = \"%s\"\nlisten = \"127.0.0.1:%d\"\nbookings = \"end\"\n"
                        .formatted(MEMBER, port));
        pass(daemon, 8, 7, 420);
        String book = "gpu book device=3,4 --from 23:59 --for 20h --for-user " + MEMBER;
        daemon.jnvdocker((Object[]) book.split(" ")).run().ok();
    }

    @AfterAll
    static void stop() {
        daemon.close();
        host.close();
    }

    /** Makes time pass: fills the registry of a daemon, which serves after that. */
    private static void pass(TestDaemon daemon, int gpus, int days, int minutes)
            throws IOException, SQLException {
        daemon.jnvdocker("gpu", "ls").run().ok();
        daemon.stop();
        String file = "jdbc:sqlite:" + daemon.state().resolve("registry.db");
        try (Connection database = DriverManager.getConnection(file);
                Statement statement = database.createStatement()) {
            statement.executeUpdate(
                    "CREATE TEMP TABLE setting AS SELECT %d AS gpus, %d AS days, %d AS minutes, %d AS now"
                            .formatted(gpus, days, minutes, System.currentTimeMillis()));
            for (String sql :
                    Files.readString(Browser.SOURCES.resolve("past.sql")).split("(?m);$")) {
                if (!sql.isBlank()) {
                    statement.executeUpdate(sql);
                }
            }
        }
        daemon.jnvdocker("gpu", "ls").run().ok();
        // Others than root must reach the socket.
        Command.of("chmod", "755", daemon.socket().getParent().getParent()).run().ok();
    }

    @Test
    void typesAreRight() throws IOException {
        Command.of("node_modules/.bin/tsc", "--project", PAGE.resolve("jsconfig.json"))
                .in(Browser.tools())
                .run()
                .ok();
    }

    @Test
    void filesAreSmall() throws IOException {
        long bytes = 0;
        long lines = 0;
        try (Stream<Path> files = Files.list(PAGE)) {
            for (Path file : files.toList()) {
                ByteArrayOutputStream packed = new ByteArrayOutputStream();
                try (GZIPOutputStream out = new GZIPOutputStream(packed)) {
                    Files.copy(file, out);
                }
                bytes += packed.size();
                lines += Files.readAllLines(file).size();
            }
        }
        assertTrue(bytes < MOST_BYTES, "gzip makes " + bytes + " bytes of the page");
        assertTrue(lines < 2500, "the page has " + lines + " lines");
    }

    /**
     * Each check is in tests/page/check.mjs. With PAGE_PICTURES=true the pictures of the manual are
     * made.
     */
    @Test
    void browserShowsWhatIsAndWhatHappens() throws Exception {
        Path tools = Browser.tools();
        Path pictures = Directories.make("pictures");
        try (SshServer ssh = new SshServer();
                DriverRoot largeHost = DriverRoot.make(DriverRoot.Release.DRIVER_535, 16);
                TestDaemon large = new TestDaemon(largeHost)) {
            large.config("socket_group = \"" + MEMBER + "\"\n");
            pass(large, 16, 30, 30);
            Command.Result checked =
                    Command.of(
                                    "node",
                                    "check.mjs",
                                    ssh.forward(MEMBER, daemon.socket()),
                                    ssh.forward("nobody", daemon.socket()),
                                    "http://127.0.0.1:" + port + "/",
                                    ssh.forward(MEMBER, large.socket()),
                                    pictures)
                            .in(tools)
                            .with(daemon.environment())
                            .with("JNVDOCKER", Project.tree().resolve("bin/jnvdocker"))
                            .with("MACHINE", nvml.machine().toString())
                            .with("MEMBER", MEMBER)
                            .run();
            System.out.println(checked.out());
            assertEquals(0, checked.exitCode(), checked::toString);
            if ("true".equals(System.getenv("PAGE_PICTURES"))) {
                copy(pictures);
            }
        } finally {
            Directories.remove(pictures);
        }
    }

    private static void copy(Path pictures) throws IOException {
        Path manual = Project.root().resolve("src/site/resources/page");
        Files.createDirectories(manual);
        for (String name : List.of("wide-light", "wide-dark", "phone-light", "phone-dark")) {
            String file = "page-" + name + ".png";
            Files.write(manual.resolve(file), Files.readAllBytes(pictures.resolve(file)));
        }
    }

    @Test
    void commandSaysHowToOpenIt() {
        String out = daemon.jnvdocker("gpu", "page", "--port", "9000").run().ok().out();
        assertTrue(out.contains("ssh -N -L 9000:" + daemon.socket() + " root@"), out);
        assertTrue(out.contains("http://localhost:9000/"), out);
        String tabs = daemon.jnvdocker("gpu", "page", "--on", "lab1,bob@lab2").run().ok().out();
        assertTrue(tabs.contains("ssh -N -L 8080:" + daemon.socket() + " root@lab1\n"), tabs);
        assertTrue(tabs.contains("ssh -N -L 8081:" + daemon.socket() + " bob@lab2\n"), tabs);
        assertTrue(tabs.contains("http://localhost:8080/?hosts=lab1:8080,lab2:8081 "), tabs);
        assertTrue(out.contains("On this host: http://127.0.0.1:" + port + "/ (without"), out);
        Command.Result none =
                daemon.jnvdocker("gpu", "page", "--open")
                        .with("DISPLAY", "")
                        .with("WAYLAND_DISPLAY", "")
                        .run();
        assertEquals(125, none.exitCode());
        assertTrue(none.err().contains("this session has no desktop"), none::err);
    }

    @Test
    void desktopOpensIt() throws IOException {
        Path programs = Directories.make("programs");
        OneDaemonTest.program(programs.resolve("xdg-open"), "echo opened \"$@\"");
        assertEquals(
                "opened http://127.0.0.1:" + port + "/\n",
                daemon.jnvdocker("gpu", "page", "--open")
                        .with("DISPLAY", ":0")
                        .with("PATH", programs + ":" + System.getenv("PATH"))
                        .run()
                        .ok()
                        .out());
        Directories.remove(programs);
    }
}
