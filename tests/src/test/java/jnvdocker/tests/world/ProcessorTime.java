package jnvdocker.tests.world;

import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * Writes into {@code tests/target/processor-time} for how long each test class, with all that it
 * has started, has had a processor. It counts the processes of the PID namespace, which each JVM of
 * {@code tests/run} has for itself: what runs, and what was waited for.
 */
public final class ProcessorTime implements BeforeAllCallback, AfterAllCallback {
    /** Clock ticks of {@code /proc/<pid>/stat} per second. */
    private static final double TICKS = 100;

    /** Where the times begin behind the name: user, system, and both of the children. */
    private static final int FIRST = 11;

    private static final int LAST = 14;
    private static final String BEGUN = "begun";

    @Override
    public void beforeAll(ExtensionContext context) {
        store(context).put(BEGUN, ticks());
    }

    @Override
    public void afterAll(ExtensionContext context) throws IOException {
        Class<?> test = context.getRequiredTestClass();
        if (test.getEnclosingClass() == null) {
            double seconds = (ticks() - store(context).get(BEGUN, Long.class)) / TICKS;
            Path directory = Files.createDirectories(Project.build("processor-time"));
            Files.writeString(
                    directory.resolve(test.getSimpleName()),
                    String.format(Locale.ROOT, "%.1f%n", seconds));
        }
    }

    private static ExtensionContext.Store store(ExtensionContext context) {
        return context.getStore(
                ExtensionContext.Namespace.create(
                        ProcessorTime.class, context.getRequiredTestClass()));
    }

    private static long ticks() {
        try (Stream<Path> processes = Files.list(Path.of("/proc"))) {
            return processes
                    .filter(it -> it.getFileName().toString().matches("[0-9]+"))
                    .mapToLong(ProcessorTime::ticks)
                    .sum();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static long ticks(Path process) {
        try {
            String stat = Files.readString(process.resolve("stat"));
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            long ticks = 0;
            for (int i = FIRST; i <= LAST; i++) {
                ticks += Long.parseLong(fields[i]);
            }
            return ticks;
        } catch (IOException e) {
            return 0; // it has just ended
        }
    }
}
