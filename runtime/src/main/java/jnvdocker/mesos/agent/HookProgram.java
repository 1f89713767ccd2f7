package jnvdocker.mesos.agent;

import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.regex.Pattern;

/**
 * The bytes of our {@code mesos-containerizer}. It must not look for anything by where it lies,
 * since the agent may run a copy of it out of memory, nor by variables, which are the task's: so
 * what it needs to know is written into the program, in the places that native/mesos keeps for that
 * behind a mark:
 *
 * <pre>
 * char mark[32]; char helper[4096]; char prestart[4096]; char socket[108];
 * </pre>
 */
final class HookProgram {
    private static final byte[] MARK =
            Arrays.copyOf("jnvdocker-mesos-settings-1".getBytes(StandardCharsets.US_ASCII), 32);

    private static final int PATH = 4096;
    private static final int SOCKET = 108;

    /** It is also put into JSON by a program that knows of no escapes, and into flags. */
    private static final Pattern PLAIN = Pattern.compile("[ !#-\\[\\]-~]*");

    private HookProgram() {}

    /** Whether this is a program of ours, settled or not. */
    static boolean isOurs(byte[] program) {
        return find(program, 0) >= 0;
    }

    /**
     * The program with what it needs to know.
     *
     * @param helper the agent's own {@code mesos-containerizer}
     * @param prestart our program that gives a container its GPUs
     * @param socket the daemon's
     * @throws RefusedException when the program has no place for these, or a path is not plain or
     *     too long for it
     */
    static byte[] settle(byte[] program, Path helper, Path prestart, Path socket)
            throws RefusedException {
        int mark = find(program, 0);
        int settings = mark + MARK.length;
        if (mark < 0
                || find(program, settings) >= 0
                || program.length - settings < 2 * PATH + SOCKET) {
            throw new RefusedException(
                    "the mesos-containerizer of this installation is damaged, or of another"
                            + " version",
                    "install jnvdocker anew");
        }
        byte[] settled = program.clone();
        write(settled, settings, PATH, helper);
        write(settled, settings + PATH, PATH, prestart);
        write(settled, settings + 2 * PATH, SOCKET, socket);
        return settled;
    }

    private static void write(byte[] program, int at, int room, Path path) throws RefusedException {
        String text = path.toString();
        if (!PLAIN.matcher(text).matches()) {
            throw new RefusedException(
                    "a path for a Mesos agent must be of plain ASCII, without \" and \\: "
                            + Quote.quoted(text),
                    "use another folder");
        }
        if (text.length() >= room) {
            throw new RefusedException(
                    "a path is longer than the "
                            + (room - 1)
                            + " bytes there is room for: "
                            + Quote.quoted(text),
                    "use a shorter one");
        }
        Arrays.fill(program, at, at + room, (byte) 0);
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(bytes, 0, program, at, bytes.length);
    }

    private static int find(byte[] program, int from) {
        for (int i = from; i <= program.length - MARK.length; i++) {
            if (program[i] == MARK[0]
                    && Arrays.equals(program, i, i + MARK.length, MARK, 0, MARK.length)) {
                return i;
            }
        }
        return -1;
    }
}
