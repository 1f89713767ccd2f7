package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** Starts programs at the same instant: each waits in its own process until all are there. */
public final class StartingGate {
    private static final String WAIT =
            "exec 3< \"$0\"; echo; read -r _ <&3; exec 3<&-; exec \"$@\"";

    private StartingGate() {}

    /** Returns once they run, with their output unread. */
    public static List<Process> start(int count, Supplier<Command> command) {
        Path directory = Directories.make("gate");
        Path gate = directory.resolve("gate");
        Command.of("mkfifo", gate).run().ok();
        // Opening a pipe for both directions does not wait; its readers wait until it is closed.
        try (FileChannel _ =
                FileChannel.open(gate, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            List<Process> processes =
                    Stream.generate(command)
                            .limit(count)
                            .map(waiting -> waiting.after("sh", "-c", WAIT, gate).start())
                            .toList();
            for (Process process : processes) {
                process.inputReader().readLine();
            }
            return processes;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            Directories.remove(directory);
        }
    }
}
