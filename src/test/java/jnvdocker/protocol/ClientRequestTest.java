package jnvdocker.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.posix.Peer;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;

class ClientRequestTest {
    private static final Peer PEER = new Peer(42, 1000);

    @Test
    void everythingIsReadFromItsPlace() throws IOException {
        assertEquals(
                new ClientRequest(
                        PEER,
                        Optional.empty(),
                        new ClientRequest.Terminals(true, false, true),
                        true,
                        80,
                        "/home/ada",
                        List.of("/usr/bin/docker", "--debug"),
                        List.of("run", "--rm", "cuda"),
                        Map.of("HOME", "/home/ada", "NV_GPU", "0=1")),
                parse(whole()));
    }

    @Test
    void requestThatIsCutAnywhereIsAnError() throws IOException {
        byte[] bytes = whole();
        for (int length = 0; length < bytes.length; length++) {
            byte[] cut = Arrays.copyOf(bytes, length);
            assertThrows(IOException.class, () -> parse(cut), "cut to " + length);
        }
    }

    @Test
    void changedBytesAreAtMostAnError() throws IOException {
        byte[] bytes = whole();
        Random random = new Random(20_26);
        for (int i = 0; i < 50_000; i++) {
            byte[] changed = bytes.clone();
            for (int j = random.nextInt(4); j >= 0; j--) {
                changed[random.nextInt(changed.length)] = (byte) random.nextInt(256);
            }
            try {
                parse(changed);
            } catch (IOException e) {
                assertTrue(e.getMessage().length() < 300, e.toString());
            }
        }
    }

    @Test
    void otherVersionIsReportedWithTheRemedy() throws IOException {
        byte[] bytes = new Payload.Writer().number(2).toBytes();
        var error = assertThrows(ProtocolVersionException.class, () -> parse(bytes));
        assertTrue(error.getMessage().contains("version 2"), error.toString());
        assertTrue(error.getMessage().contains("restart"), error.toString());
    }

    @Test
    void dockerMustBeNamed() throws IOException {
        byte[] bytes = request(0, 80, List.of(), List.of("run"), List.of());
        assertThrows(IOException.class, () -> parse(bytes));
    }

    @Test
    void columnsAreWithinReason() throws IOException {
        assertEquals(0, columns(Integer.MIN_VALUE));
        assertEquals(0, columns(-1));
        assertEquals(10_000, columns(Integer.MAX_VALUE));
    }

    @Test
    void firstOfTwoVariablesCountsAsForGetenv() throws IOException {
        List<String> twice = List.of("A=1", "A=2", "B=", "C", "=D", "");
        byte[] bytes = request(0, 80, List.of("docker"), List.of(), twice);
        ClientRequest request = parse(bytes);
        assertEquals(Map.of("A", "1", "B", ""), request.variables());
        assertEquals("1", request.variable("A"));
        assertEquals("", request.variable("C"));
    }

    @Test
    void localeOfTheFirstThatSaysOneDecidesWhatCanBeRead() throws IOException {
        assertTrue(readsAsciiAlone("LC_CTYPE=C", "LC_CTYPE=C.UTF-8"));
        assertFalse(readsAsciiAlone("LC_CTYPE=C.UTF-8", "LC_CTYPE=C"));
        assertFalse(readsAsciiAlone("LANG=C"));
    }

    private static boolean readsAsciiAlone(String... variables) throws IOException {
        return parse(request(0, 80, List.of("docker"), List.of(), List.of(variables)))
                .readsAsciiAlone();
    }

    @Test
    void unknownFlagsAreIgnored() throws IOException {
        byte[] bytes = request(0xfffffff0, 80, List.of("docker"), List.of(), List.of());
        assertEquals(new ClientRequest.Terminals(false, false, false), parse(bytes).terminals());
    }

    private static int columns(int typed) throws IOException {
        return parse(request(0, typed, List.of("docker"), List.of(), List.of())).columns();
    }

    private static byte[] whole() throws IOException {
        return request(
                1 | 4 | 8,
                80,
                List.of("/usr/bin/docker", "--debug"),
                List.of("run", "--rm", "cuda"),
                List.of("HOME=/home/ada", "NV_GPU=0=1"));
    }

    /** Written as by the client. */
    static byte[] request(
            int flags, int columns, List<String> docker, List<String> argv, List<String> variables)
            throws IOException {
        byte[] directory = "/home/ada".getBytes(StandardCharsets.UTF_8);
        byte[] head = new Payload.Writer().number(1).number(flags).number(columns).toBytes();
        byte[] lists =
                new Payload.Writer().strings(docker).strings(argv).strings(variables).toBytes();
        return ByteBuffer.allocate(head.length + 4 + directory.length + lists.length)
                .put(head)
                .putInt(directory.length)
                .put(directory)
                .put(lists)
                .array();
    }

    private static ClientRequest parse(byte[] bytes) throws IOException {
        return ClientRequest.parse(new Payload.Reader(bytes), PEER, Optional.empty());
    }
}
