package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.net.SocketException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.util.List;

/** What clients and other daemons do to a daemon that runs, which none of them disturbs. */
@Attack(
        by = "root, by mistake",
        what = "starts a second daemon with directories of its own",
        result = "refused, with the first one's pid")
class RunningDaemonTest extends OneDaemonTest {
    @Test
    void gpuLsShowsEveryGpu() {
        assertEquals(
                """
                GPU   UUID           MODEL            STATE   USER   CONTAINER   AGE   NOTE
                0     GPU-5c1a0000   A100-SXM4-40GB   FREE    -      -           -
                1     GPU-5c1a1003   A100-SXM4-40GB   FREE    -      -           -
                2     GPU-5c1a2006   A100-SXM4-40GB   FREE    -      -           -
                3     GPU-5c1a3009   A100-SXM4-40GB   FREE    -      -           -
                """,
                daemon.jnvdocker("gpu", "ls").run().ok().out());
    }

    @Test
    void secondDaemonIsRefusedWithTheFirstOnesPid() {
        Command.Result second = daemon.jnvdockerd().run();
        assertEquals(125, second.exitCode());
        assertTrue(
                second.err()
                        .startsWith(
                                "jnvdocker: another jnvdockerd (pid "
                                        + daemon.pid().orElseThrow()
                                        + ") uses "),
                second::toString);
        daemon.jnvdocker("gpu", "ls").run().ok();
    }

    /** It would give out the same GPUs. */
    @Test
    void secondDaemonOfTheHostIsRefusedWhateverItsDirectories() {
        try (TestDaemon other = new TestDaemon(host)) {
            Command.Result second = other.jnvdockerd().run();
            assertEquals(125, second.exitCode());
            assertEquals(
                    "jnvdocker: another jnvdockerd (pid "
                            + daemon.pid().orElseThrow()
                            + ") gives out the GPUs of this host already; stop it first\n",
                    second.err());
        }
    }

    @Test
    void daemonsWithOneStateDirectoryAreRefused() {
        try (TestDaemon other = new TestDaemon(host)) {
            other.with("JNVDOCKER_STATE_DIR", daemon.state());
            Command.Result second = other.jnvdockerd().run();
            assertEquals(125, second.exitCode());
            assertTrue(second.err().contains("set JNVDOCKER_STATE_DIR"), second::toString);
        }
    }

    @Test
    void socketsAreForThoseWhoMayUseThem() {
        assertEquals(
                "660 root docker\n",
                Command.of("stat", "-c", "%a %U %G", daemon.socket()).run().ok().out());
        assertEquals(
                "600 root root\n",
                Command.of("stat", "-c", "%a %U %G", daemon.pluginSocket()).run().ok().out());
    }

    @Test
    void pluginSocketOfAnotherProgramIsLeftAlone() throws Exception {
        try (DriverRoot another = DriverRoot.make(DriverRoot.Release.DRIVER_535, 1);
                TestDaemon other = new TestDaemon(another)) {
            other.with("JNVDOCKER_PLUGIN_DIR", daemon.pluginSocket().getParent());
            Command.Result result = other.jnvdockerd().run();
            assertEquals(125, result.exitCode());
            assertTrue(result.err().contains("JNVDOCKER_PLUGIN_NAME"), result::toString);
        }
        assertTrue(Files.exists(daemon.pluginSocket()));
    }

    @Test
    void malformedRequestEndsItsOwnConnectionAndNothingElse() throws IOException {
        int known = Files.readString(daemon.log()).length();
        byte[][] frames = {
            {},
            {'Q'},
            {'Q', 0x7f, -1, -1, -1},
            {'Q', -1, -1, -1, -1},
            {'Q', 0, 0, 0, 4, 0, 0, 0, 9},
            {'Q', 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0},
            {'Z', 0, 0, 0, 0},
            {'R', 0, 0, 0, 0},
            "GET / HTTP/1.1\r\n\r\n".getBytes(),
        };
        for (byte[] frame : frames) {
            try (SocketChannel socket =
                    SocketChannel.open(UnixDomainSocketAddress.of(daemon.socket()))) {
                socket.write(ByteBuffer.wrap(frame));
                socket.shutdownOutput();
                while (socket.read(ByteBuffer.allocate(4096)) >= 0) {}
            } catch (SocketException e) {
                // The daemon hung up before it had read everything, as it should.
            }
        }
        daemon.jnvdocker("gpu", "ls").run().ok();
        assertFalse(Files.readString(daemon.log()).substring(known).contains("ERROR"));
    }

    @Test
    void clientOfAnotherVersionIsToldToRestartTheDaemon() throws IOException {
        try (SocketChannel socket =
                SocketChannel.open(UnixDomainSocketAddress.of(daemon.socket()))) {
            socket.write(ByteBuffer.wrap(new byte[] {'Q', 0, 0, 0, 4, 0, 0, 0, 99}));
            ByteBuffer answer = ByteBuffer.allocate(4096);
            while (socket.read(answer) >= 0) {}
            String text = new String(answer.array(), 0, answer.position());
            assertTrue(text.contains("jnvdocker: this client speaks protocol version 99"), text);
        }
    }

    @Test
    void wrongUsageIsExitCode2() {
        for (String[] wrong : new String[][] {{"gpu", "nonsense"}, {"gpu", "ls", "--nonsense"}}) {
            Command.Result result = daemon.jnvdocker((Object[]) wrong).run();
            assertEquals(2, result.exitCode(), result::toString);
            assertTrue(result.err().startsWith("jnvdocker: "), result::toString);
        }
    }

    @Test
    void noFileIsReadForAnArgument() {
        Command.Result result = daemon.jnvdocker("gpu", "ls", "@/etc/passwd").run();
        assertEquals(2, result.exitCode());
        assertTrue(result.err().contains("argument: @/etc/passwd; "), result::toString);
        assertFalse((result.out() + result.err()).contains("root:"), result::toString);
    }

    @Test
    void socketOfAnotherDaemonIsLeftAlone() {
        try (DriverRoot another = DriverRoot.make(DriverRoot.Release.DRIVER_535, 1);
                TestDaemon other = new TestDaemon(another)) {
            other.with("JNVDOCKER_SOCKET", daemon.socket());
            Command.Result result = other.jnvdockerd().run();
            assertEquals(125, result.exitCode());
            assertTrue(result.err().contains("another program serves it"), result::toString);
        }
        assertEquals("", daemon.jnvdocker("gpu", "ls").run().ok().err());
    }

    @Test
    void requestThatWouldFillTheMemoryEndsItsOwnConnection() throws IOException {
        ByteBuffer frame = ByteBuffer.allocate(8 << 20);
        frame.put((byte) 'Q').putInt(frame.capacity() - 5).putInt(1).putInt(0).putInt(0).putInt(0);
        frame.putInt(2_000_000).rewind();
        for (int i = 0; i < 8; i++) {
            try (SocketChannel socket =
                    SocketChannel.open(UnixDomainSocketAddress.of(daemon.socket()))) {
                while (frame.hasRemaining()) {
                    socket.write(frame);
                }
                while (socket.read(ByteBuffer.allocate(4096)) >= 0) {}
            } catch (SocketException e) {
                // The daemon hung up.
            }
            frame.rewind();
        }
        assertEquals("", daemon.jnvdocker("gpu", "ls").run().ok().err());
    }

    @Test
    void closedStandardStreamsAreNotTakenForOthers() {
        String client = Project.tree().resolve("bin/jnvdocker").toString();
        for (String closed : List.of("<&-", ">&-", "2>&-", "<&- >&- 2>&-", "2>/dev/full")) {
            Command.Result result =
                    Command.of("bash", "-c", client + " run x " + closed)
                            .with(daemon.environment())
                            .run();
            // There is no engine: the command is refused, and the client neither crashes nor gets
            // confused.
            assertEquals(125, result.exitCode(), closed);
        }
    }
}
