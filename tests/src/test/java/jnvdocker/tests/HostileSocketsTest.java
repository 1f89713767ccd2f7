package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Users who may connect to a socket of the daemon cannot disturb others. */
class HostileSocketsTest extends OneEngineTest {
    private static final int MEBIBYTE = 1 << 20;

    /** No request makes the daemon grow by more than this. */
    private static final long GROWTH_KIB = 96 << 10;

    /** The daemon's two sockets, and how a request to each begins. */
    enum Socket {
        CLIENTS("Q\0\u007f\u00ff\u00ff"),
        PLUGIN("POST /VolumeDriver.Create HTTP/1.1\r\nHost: \r\nContent-Length: 1000000\r\n\r\n");

        private final String beginning;

        Socket(String beginning) {
            this.beginning = beginning;
        }

        SocketChannel connect() throws IOException {
            Path path = this == CLIENTS ? lab.daemon().socket() : lab.daemon().pluginSocket();
            return SocketChannel.open(UnixDomainSocketAddress.of(path));
        }

        ByteBuffer beginning() {
            return ByteBuffer.wrap(beginning.getBytes(StandardCharsets.ISO_8859_1));
        }
    }

    @AfterEach
    void othersAreServedAndNothingFailed() throws IOException {
        lab.jnvdocker("run", "--rm", "--gpus", "1", "plain", "true").ok();
        assertFalse(lab.log().contains("ERROR"), lab::log);
        try (var crashes =
                Files.newDirectoryStream(lab.daemon().log().getParent(), "jnvdockerd-crash-*")) {
            crashes.forEach(crash -> fail(crash.toString()));
        }
    }

    @ParameterizedTest
    @EnumSource
    void aThousandIdleConnectionsAreNobodysTrouble(Socket socket) throws IOException {
        List<SocketChannel> idle = new ArrayList<>();
        try {
            for (int i = 0; i < 1000; i++) {
                SocketChannel connection = socket.connect();
                idle.add(connection);
                if (i % 2 == 1) {
                    connection.write(socket.beginning()); // and nothing more
                }
            }
            lab.run("train", 1);
            assertEquals("train", lab.inspect("train", "{{.Name}}").substring(1));
            assertTrue(lab.docker("volume", "ls").ok().out().contains("jnvdocker_claim_"));
        } finally {
            for (SocketChannel connection : idle) {
                connection.close();
            }
        }
    }

    /**
     * Sent on one connection after another, both in an announced request and as bytes that form
     * none.
     */
    @ParameterizedTest
    @EnumSource
    void aHundredMebibytesAreNotKept(Socket socket) throws IOException {
        lab.jnvdocker("gpu", "ls").ok();
        long before = residentKib();
        for (byte filler : new byte[] {0, 'x'}) {
            for (boolean announced : new boolean[] {true, false}) {
                pour(socket, announced, filler);
            }
        }
        long growth = residentKib() - before;
        assertTrue(growth < GROWTH_KIB, () -> "grown by " + growth + " KiB");
    }

    private static void pour(Socket socket, boolean announced, byte filler) throws IOException {
        ByteBuffer block = ByteBuffer.allocate(MEBIBYTE);
        for (int i = 0; i < MEBIBYTE; i++) {
            block.put(i, filler);
        }
        try (SocketChannel connection = socket.connect()) {
            if (announced) {
                connection.write(socket.beginning());
            }
            for (int i = 0; i < 100; i++) {
                block.clear();
                while (block.hasRemaining()) {
                    connection.write(block);
                }
            }
        } catch (IOException e) {
            // The daemon hung up, as it should.
        }
    }

    private static long residentKib() throws IOException {
        Path status = Path.of("/proc/" + lab.daemon().pid().orElseThrow() + "/status");
        return Files.readAllLines(status).stream()
                .filter(line -> line.startsWith("VmRSS:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                .findFirst()
                .orElseThrow();
    }
}
