package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Frames;
import jnvdocker.tests.world.HostileDaemon;
import jnvdocker.tests.world.HostileDaemon.Script;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.RuntimeProgram;
import jnvdocker.tests.world.SanitizedClient;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * docker takes certain phrases of a runtime for the kernel's error about the container's program,
 * and then ends with another exit code. Neither our messages nor those that we pass on contain
 * them.
 */
class RuntimeWordingTest {
    private static final List<String> PHRASES =
            List.of(
                    "no such file or directory",
                    "executable file not found",
                    "permission denied",
                    "is a directory",
                    "not a directory");

    /** Also matches adjacent literals, which the compiler joins. */
    private static final Pattern LITERAL =
            Pattern.compile("\"(?:[^\"\\\\\n]|\\\\.)*\"(?:\\s*\"(?:[^\"\\\\\n]|\\\\.)*\")*");

    private final Path folder = Directories.make("oci");

    @AfterEach
    void removeAll() {
        Directories.remove(folder);
    }

    @Test
    void noTextOfOursHasSuchAPhrase() throws IOException {
        List<String> found = new ArrayList<>();
        int literals = 0;
        for (Path source : sources()) {
            Matcher literal = LITERAL.matcher(Files.readString(source));
            while (literal.find()) {
                literals++;
                String text = literal.group().replaceAll("\"\\s*\"", "").toLowerCase(Locale.ROOT);
                PHRASES.stream().filter(text::contains).forEach(it -> found.add(source + it));
            }
        }
        assertEquals(List.of(), found);
        assertTrue(literals > 100, "literals: " + literals);
    }

    private static List<Path> sources() throws IOException {
        List<Path> all = new ArrayList<>();
        for (String part : List.of("oci", "common")) {
            try (Stream<Path> files = Files.list(Project.source("native").resolve(part))) {
                files.filter(it -> it.toString().matches(".*\\.[ch]")).forEach(all::add);
            }
        }
        return all;
    }

    @ParameterizedTest
    @CsvSource({
        "stat /x: no such file or directory, stat /x: no such file or folder",
        "No Such File Or DIRECTORY?, No Such File Or folder?",
        "Permission denied, Permission refused",
        "permission permission denied denied, permission permission refused denied",
        "is a is a directory, is a is a folder",
        "This is a directory and not a directory, This is a folder and not a folder",
        "executable file not found in $PATH, executable file not there in $PATH",
        "this a directoryis a directory, this a folderis a folder",
        "no GPU is free, no GPU is free",
    })
    void whatTheDaemonSaysIsReworded(String said, String shown) throws IOException {
        RuntimeProgram runtime = install("true");
        try (HostileDaemon _ =
                new HostileDaemon(
                        runtime.socket(), Script.saying(new Frames().refuse(said).toBytes()))) {
            assertEquals("jnvdocker: " + shown + "\n", refused(runtime, "create -b . c1"));
        }
    }

    /** The kernel's own text for each errno that a create can meet. */
    @ParameterizedTest
    @CsvSource({
        "--log nowhere/log create -b nowhere c1, No such file or folder",
        "create -b config.json c1, Not a folder",
        "create -b . -f config.json/x c1, Not a folder",
        "create -b . -f nowhere c1, No such file or folder",
        "create -b bin c1, No such file or folder",
        "create -b loop c1, Too many levels of symbolic links",
    })
    void errorsOfTheKernelAreReworded(String line, String shown) throws IOException {
        RuntimeProgram runtime = install("true");
        Files.createSymbolicLink(folder.resolve("loop"), folder.resolve("loop"));
        String said = refused(runtime, line);
        assertTrue(said.contains(shown), said);
    }

    /**
     * The errors of a runtime that is not executable, of a directory, and of a path through a file.
     */
    @ParameterizedTest
    @CsvSource({
        "config.json, Permission refused",
        "bin, Permission refused",
        "config.json/runc, Not a folder",
        "nowhere, No such file or folder",
    })
    void errorsOfAnExecAreReworded(String real, String shown) throws IOException {
        RuntimeProgram runtime = install(real);
        String said = refused(runtime, "start c1");
        assertTrue(said.contains(shown), said);
    }

    private RuntimeProgram install(String real) throws IOException {
        Files.createDirectories(folder.resolve("bin"));
        Files.writeString(folder.resolve("config.json"), "{\"x\":\"NVIDIA_\"}");
        return new RuntimeProgram(folder, SanitizedClient.runtimeProgram(), folder.resolve(real));
    }

    private String refused(RuntimeProgram runtime, String line) {
        List<String> argv = new ArrayList<>(List.of("runc"));
        argv.addAll(List.of(line.split(" ")));
        Command.Result result = runtime.command(argv, folder, Map.of()).run();
        assertEquals(1, result.exitCode(), result::toString);
        String text = result.err().toLowerCase(Locale.ROOT);
        PHRASES.forEach(phrase -> assertFalse(text.contains(phrase), text));
        return result.err();
    }
}
