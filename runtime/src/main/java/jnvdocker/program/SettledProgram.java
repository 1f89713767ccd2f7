package jnvdocker.program;

import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The bytes of a program of ours that others start. It must not find anything by where it lies, nor
 * by variables, which others control: so what it needs to know is written into it, behind a mark
 * that comes once in it:
 *
 * <pre>
 * char mark[32]; char path[4096]; … char socket[108]; …
 * </pre>
 */
public final class SettledProgram {
    /** Room for a path, with the zero at its end. */
    public static final int PATH = 4096;

    /** Room for the name of a socket, likewise. */
    public static final int SOCKET = 108;

    private static final int MARK = 32;

    /** Restricted, since a program without escapes puts the value into JSON and flags. */
    private static final Pattern PLAIN = Pattern.compile("[ !#-\\[\\]-~]*");

    private final String name;
    private final byte[] mark;
    private final List<Integer> rooms;

    /**
     * @param name of the program, for messages
     * @param mark of at most 31 characters
     * @param rooms of its settings, in their order behind the mark
     */
    public SettledProgram(String name, String mark, List<Integer> rooms) {
        this.name = name;
        this.mark = Arrays.copyOf(mark.getBytes(StandardCharsets.US_ASCII), MARK);
        this.rooms = List.copyOf(rooms);
    }

    /** Whether this is such a program, settled or not. */
    public boolean isOurs(byte[] program) {
        return find(program, 0) >= 0;
    }

    /**
     * The program with what it needs to know.
     *
     * @throws RefusedException when the program has no place for these, or a path is not plain or
     *     too long for it
     */
    public byte[] settle(byte[] program, List<Path> settings) throws RefusedException {
        int at = find(program, 0) + MARK;
        if (at < MARK || find(program, at) >= 0 || program.length - at < length()) {
            throw new RefusedException(
                    "the " + name + " of this installation is damaged, or of another version",
                    "install jnvdocker again");
        }
        byte[] settled = program.clone();
        for (int i = 0; i < rooms.size(); i++) {
            write(settled, at, rooms.get(i), settings.get(i));
            at += rooms.get(i);
        }
        return settled;
    }

    /** The settings of a program, in its order; empty for one that is not ours, or has none. */
    public Optional<List<String>> settings(byte[] program) {
        int at = find(program, 0) + MARK;
        if (at < MARK || program.length - at < length()) {
            return Optional.empty();
        }
        List<String> settings = new ArrayList<>();
        for (int room : rooms) {
            int end = at;
            while (end < at + room && program[end] != 0) {
                end++;
            }
            settings.add(new String(program, at, end - at, StandardCharsets.US_ASCII));
            at += room;
        }
        return settings.contains("") ? Optional.empty() : Optional.of(settings);
    }

    private int length() {
        return rooms.stream().mapToInt(Integer::intValue).sum();
    }

    private static void write(byte[] program, int at, int room, Path path) throws RefusedException {
        String text = path.toString();
        if (!PLAIN.matcher(text).matches()) {
            throw new RefusedException(
                    "a path that is written into a program must be of plain ASCII, without \" and"
                            + " \\: "
                            + Quote.quoted(text),
                    "use another directory");
        }
        if (text.length() >= room) {
            throw new RefusedException(
                    "a path is longer than the %s bytes there is room for: %s"
                            .formatted(room - 1, Quote.quoted(text)),
                    "use a shorter one");
        }
        Arrays.fill(program, at, at + room, (byte) 0);
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(bytes, 0, program, at, bytes.length);
    }

    private int find(byte[] program, int from) {
        for (int i = from; i <= program.length - MARK; i++) {
            if (program[i] == mark[0] && Arrays.equals(program, i, i + MARK, mark, 0, MARK)) {
                return i;
            }
        }
        return -1;
    }
}
