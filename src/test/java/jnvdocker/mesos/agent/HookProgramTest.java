package jnvdocker.mesos.agent;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;

class HookProgramTest {
    private static final int SETTINGS = 32 + 4096 + 4096 + 108;
    private static final int BEFORE = 1000;
    private static final Path HELPER = Path.of("/usr/libexec/mesos/mesos-containerizer");
    private static final Path PRESTART = Path.of("/usr/libexec/jnvdocker/jnvdocker-prestart");
    private static final Path SOCKET = Path.of("/run/jnvdocker/jnvdocker.sock");

    /** A program with that many places for settings, one after the other, among code. */
    private static byte[] program(int places) {
        byte[] program = new byte[BEFORE + places * SETTINGS + 500];
        Arrays.fill(program, (byte) 'j');
        for (int i = 0; i < places; i++) {
            int at = BEFORE + i * SETTINGS;
            Arrays.fill(program, at, at + SETTINGS, (byte) 0);
            byte[] mark = "jnvdocker-mesos-settings-1".getBytes(StandardCharsets.US_ASCII);
            System.arraycopy(mark, 0, program, at, mark.length);
        }
        return program;
    }

    private static String text(byte[] program, int at) {
        int end = at;
        while (program[end] != 0) {
            end++;
        }
        return new String(program, at, end - at, StandardCharsets.US_ASCII);
    }

    @Test
    void pathsAreWrittenBehindTheMarkAndNothingElseChanges() throws RefusedException {
        byte[] program = program(1);
        byte[] settled = HookProgram.settle(program, HELPER, PRESTART, SOCKET);
        assertEquals(HELPER.toString(), text(settled, BEFORE + 32));
        assertEquals(PRESTART.toString(), text(settled, BEFORE + 32 + 4096));
        assertEquals(SOCKET.toString(), text(settled, BEFORE + 32 + 8192));
        Arrays.fill(settled, BEFORE + 32, BEFORE + SETTINGS, (byte) 0);
        assertArrayEquals(program, settled);
        assertArrayEquals(program(1), program);
    }

    @Test
    void settledAgainItIsAsIfSettledOnce() throws RefusedException {
        byte[] other =
                HookProgram.settle(
                        program(1), Path.of("/a/much/longer/path".repeat(9)), PRESTART, SOCKET);
        assertArrayEquals(
                HookProgram.settle(program(1), HELPER, PRESTART, SOCKET),
                HookProgram.settle(other, HELPER, PRESTART, SOCKET));
    }

    @Test
    void aProgramWithoutExactlyOnePlaceIsRefused() {
        assertTrue(HookProgram.isOurs(program(1)));
        assertFalse(HookProgram.isOurs(program(0)));
        for (byte[] program :
                new byte[][] {
                    new byte[0],
                    program(0),
                    program(2),
                    Arrays.copyOf(program(1), BEFORE + SETTINGS - 1)
                }) {
            assertEquals(
                    "the mesos-containerizer of this installation is damaged, or of another"
                            + " version; install jnvdocker again",
                    refusal(program, HELPER, SOCKET));
        }
    }

    @Test
    void pathsThatHaveNoRoomAreRefused() throws RefusedException {
        Path longest = Path.of("/" + "x".repeat(4094));
        byte[] settled = HookProgram.settle(program(1), longest, PRESTART, SOCKET);
        assertEquals(longest.toString(), text(settled, BEFORE + 32));
        assertTrue(
                refusal(program(1), Path.of("/" + "x".repeat(4095)), SOCKET)
                        .startsWith("a path is longer than the 4095 bytes there is room for: '/x"));
        Path socket = Path.of("/" + "s".repeat(106));
        assertEquals(
                socket.toString(),
                text(HookProgram.settle(program(1), HELPER, PRESTART, socket), BEFORE + 32 + 8192));
        assertTrue(
                refusal(program(1), HELPER, Path.of("/" + "s".repeat(107)))
                        .startsWith("a path is longer than the 107 bytes there is room for: '/s"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"/a\"b", "/a\\b", "/a\nb", "/a\u007fb"})
    void pathsThatAreNotPlainAreRefused(String path) {
        assertTrue(
                refusal(program(1), Path.of(path), SOCKET)
                        .startsWith(
                                "a path that is written into a program must be of plain ASCII"));
    }

    private static String refusal(byte[] program, Path helper, Path socket) {
        return assertThrows(
                        RefusedException.class,
                        () -> HookProgram.settle(program, helper, PRESTART, socket))
                .getMessage();
    }
}
