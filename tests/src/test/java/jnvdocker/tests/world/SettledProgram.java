package jnvdocker.tests.world;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Writes the settings that an installer puts after the mark in a program of ours, with any bytes.
 */
public final class SettledProgram {
    private static final int MARK_LENGTH = 32;
    private static final int PATH_LENGTH = 4096;
    private static final int SOCKET_LENGTH = 108;

    private final byte[] mark;
    private final ByteArrayOutputStream settings = new ByteArrayOutputStream();

    public SettledProgram(String mark) {
        this.mark = Arrays.copyOf(mark.getBytes(StandardCharsets.US_ASCII), MARK_LENGTH);
    }

    public SettledProgram path(byte[] path) {
        settings.writeBytes(Arrays.copyOf(path, PATH_LENGTH));
        return this;
    }

    public SettledProgram socket(byte[] path) {
        settings.writeBytes(Arrays.copyOf(path, SOCKET_LENGTH));
        return this;
    }

    /** Lays out a copy of a program with these settings. */
    public void write(Path program, Path copy) throws IOException {
        byte[] all = Files.readAllBytes(program);
        int at = indexOf(all, 0);
        if (at < 0 || indexOf(all, at + 1) >= 0) {
            throw new AssertionError(program + " has not one place for its settings");
        }
        System.arraycopy(settings.toByteArray(), 0, all, at + mark.length, settings.size());
        Files.deleteIfExists(copy);
        Files.write(copy, all);
        copy.toFile().setExecutable(true);
    }

    private int indexOf(byte[] all, int from) {
        for (int at = from; at <= all.length - mark.length; at++) {
            if (all[at] == mark[0] && Arrays.equals(all, at, at + mark.length, mark, 0, 32)) {
                return at;
            }
        }
        return -1;
    }
}
