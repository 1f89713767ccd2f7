package jnvdocker.mesos.agent;

import jnvdocker.program.SettledProgram;
import jnvdocker.words.RefusedException;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Our {@code mesos-containerizer}, of which the agent may run a copy out of memory. */
final class HookProgram {
    private static final SettledProgram PROGRAM =
            new SettledProgram(
                    "mesos-containerizer",
                    "jnvdocker-mesos-settings-1",
                    List.of(SettledProgram.PATH, SettledProgram.PATH, SettledProgram.SOCKET));

    private HookProgram() {}

    /** Whether this is a program of ours, settled or not. */
    static boolean isOurs(byte[] program) {
        return PROGRAM.isOurs(program);
    }

    /** The socket that a settled program connects to. */
    static Optional<String> socket(byte[] program) {
        return PROGRAM.settings(program).map(List::getLast);
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
        return PROGRAM.settle(program, List.of(helper, prestart, socket));
    }
}
