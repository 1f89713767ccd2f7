package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** A terminal (of the kernel, by script(1)), a program in it, and the program's output. */
public final class Terminal implements AutoCloseable {
    private static final String HOME = "\u001b[H";
    private static final String END = "\u001b[J";
    private static final Pattern CONTROL = Pattern.compile("\u001b\\[[0-9]*[A-Za-z]");

    private final Path directory = Directories.make("terminal");
    private final Process script;
    private final StringBuffer written = new StringBuffer();

    /**
     * @param command whose words contain nothing that is special to a shell
     */
    public Terminal(Command command, int columns, int rows) {
        // Tests in the background inherit an ignored Ctrl-C.
        String inside =
                "tty > %s; stty cols %d rows %d; exec env --default-signal=INT %s"
                        .formatted(name(), columns, rows, String.join(" ", command.words()));
        script = command.as("script", "-qefc", inside, "/dev/null").start();
        Thread.startVirtualThread(this::read);
    }

    private Path name() {
        return directory.resolve("tty");
    }

    private void read() {
        byte[] bytes = new byte[1 << 16];
        try {
            for (int count = 0; count >= 0; count = script.getInputStream().read(bytes)) {
                written.append(new String(bytes, 0, count, StandardCharsets.ISO_8859_1));
            }
        } catch (IOException e) {
            // It was ended.
        }
    }

    /** The output so far, control sequences included. */
    public String written() {
        return new String(
                written.toString().getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
    }

    /** The last complete screen, as displayed; empty before the first one. */
    public List<String> screen() {
        String all = written();
        int end = all.lastIndexOf(END);
        int begin = end < 0 ? -1 : all.lastIndexOf(HOME, end);
        return begin < 0
                ? List.of()
                : CONTROL.matcher(all.substring(begin, end)).replaceAll("").lines().toList();
    }

    /** Waits until a line of the screen matches the pattern. */
    public void awaitLine(String pattern) {
        Pattern line = Pattern.compile(pattern);
        Lab.await(() -> {
            List<String> screen = screen();
            return screen.stream().anyMatch(it -> line.matcher(it).find())
                    ? List.of()
                    : List.of("no line is " + pattern + " in\n" + String.join("\n", screen));
        });
    }

    /** Its path; empty until the program begins. */
    public Optional<String> device() {
        try {
            return Optional.of(Files.readString(name()).strip()).filter(path -> !path.isEmpty());
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public void resize(int columns) {
        Command.of("stty", "-F", device().orElseThrow(), "cols", columns).run().ok();
    }

    /** Types a key. */
    public void type(char key) {
        try {
            script.getOutputStream().write(key);
            script.getOutputStream().flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Waits for the program's end. */
    public int exitCode() throws InterruptedException {
        if (!script.waitFor(60, TimeUnit.SECONDS)) {
            throw new AssertionError("it does not end; it wrote\n" + written());
        }
        return script.exitValue();
    }

    @Override
    public void close() {
        script.destroyForcibly();
        Directories.remove(directory);
    }
}
