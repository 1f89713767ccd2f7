package jnvdocker.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.labels.CudaVersion;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Runs a real child process, and compiles libraries for each test. */
@Timeout(120)
class CudaDriverTest {
    /** The child's limit, on a busy machine. */
    private static final Duration LONG = Duration.ofSeconds(60);

    @TempDir Path folder;

    private String failure(String body) throws Exception {
        Path library = TestingLibcuda.make(folder, body);
        CudaDriver driver = new CudaDriver(CudaDriver.child(), LONG);
        return failure(driver, library);
    }

    private static String failure(CudaDriver driver, Path library) {
        String message = assertThrows(IOException.class, () -> driver.ask(library)).getMessage();
        String start = library + ": ";
        assertTrue(message.startsWith(start), message);
        return message.substring(start.length());
    }

    /** A program that gets the library as $0 and its seconds as $1. */
    private static CudaDriver shell(String script, Duration limit) {
        return new CudaDriver(List.of("/bin/sh", "-c", script), limit);
    }

    @ParameterizedTest
    @CsvSource({
        "12020, 12.2",
        "11040, 11.4",
        "6050, 6.5",
        "13000, 13.0",
        "10010, 10.1",
        "99990, 99.99"
    })
    void numberIsAVersion(String number, String version) {
        assertEquals(Optional.of(CudaVersion.parse(version)), CudaDriver.parse(number));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"0", "-1", "-12020", "20", "999", "100000", "2147483647", "-2147483648"})
    void numberThatNoDriverHasIsNoVersion(String number) {
        assertEquals(Optional.empty(), CudaDriver.parse(number));
    }

    @Test
    void libraryIsAsked() throws Exception {
        Path library = TestingLibcuda.make(folder, "*version = 12020; return 0;");
        assertEquals(new CudaVersion(12, 2), new CudaDriver().ask(library));
    }

    @Test
    void whatTheLibraryPrintsIsNoAnswer() throws Exception {
        String noise = "fputs(\"cuDriverGetVersion: 1\", stdout); fputs(\"oh\", stderr);";
        String body = noise + "fflush(stdout); *version = 12020; return 0;";
        Path library = TestingLibcuda.make(folder, body);
        assertEquals(new CudaVersion(12, 2), new CudaDriver().ask(library));
    }

    @Test
    void itsOtherPartsAreLookedForBesideIt() throws Exception {
        String part = "int part(void);\n";
        Path beside =
                TestingLibcuda.compile(
                        folder, "libnvidia-part.so.1", part + "int part(void) { return 11040; }");
        Path library =
                TestingLibcuda.compile(
                        folder,
                        "libcuda.so.1",
                        part + TestingLibcuda.function("*version = part(); return 0;"),
                        beside.toString());
        // By its name alone, as NVIDIA's libraries load each other.
        Path named =
                TestingLibcuda.compile(
                        folder,
                        "libcuda.so.2",
                        part + TestingLibcuda.function("*version = part(); return 0;"),
                        "-L" + folder,
                        "-l:libnvidia-part.so.1");
        assertEquals(new CudaVersion(11, 4), new CudaDriver().ask(library));
        assertEquals(new CudaVersion(11, 4), new CudaDriver().ask(named));
    }

    @Test
    void zeroIsNoAnswer() throws Exception {
        assertEquals("it answers 0, which is not a version", failure("*version = 0; return 0;"));
    }

    @Test
    void errorIsNoAnswer() throws Exception {
        assertEquals(
                "cuDriverGetVersion returns error 34", failure("*version = 12020; return 34;"));
    }

    @Test
    void crashIsNoAnswerAndLeavesNothingBehind() throws Exception {
        Set<Path> before = here();
        String message = failure("*(volatile int *)0 = 1; return 0;");
        assertTrue(message.startsWith("asking it ends with exit code "), message);
        assertEquals(before, here());
    }

    private static Set<Path> here() throws IOException {
        try (Stream<Path> files = Files.list(Path.of(""))) {
            return new TreeSet<>(files.toList());
        }
    }

    @Test
    void libraryThatEndsTheProcessHasNotAnswered() throws Exception {
        assertEquals("asking it ends with exit code 0 and the output ''", failure("_exit(0);"));
    }

    @Test
    void libraryThatHangsIsGivenUp() throws Exception {
        Path library = TestingLibcuda.make(folder, "for (;;) pause();");
        CudaDriver driver = new CudaDriver(CudaDriver.child(), Duration.ofSeconds(2));
        assertEquals("it does not end within 2000 ms", failure(driver, library));
        assertEquals(0, ProcessHandle.current().children().filter(CudaDriverTest::asks).count());
    }

    private static boolean asks(ProcessHandle child) {
        // A killed process may take a moment to disappear.
        child.onExit().completeOnTimeout(child, 10, TimeUnit.SECONDS).join();
        return child.isAlive();
    }

    @Test
    void childThatHangsEndsByItselfWhoeverHasDied() throws Exception {
        Path library = TestingLibcuda.make(folder, "for (;;) pause();");
        List<String> words = new ArrayList<>(CudaDriver.child());
        words.addAll(List.of(library.toString(), "1"));
        Process child = new ProcessBuilder(words).redirectErrorStream(true).start();
        assertTrue(child.waitFor(60, TimeUnit.SECONDS));
        assertEquals(128 + 14, child.exitValue());
    }

    @Test
    void whatIsNoLibraryIsNotAsked() throws IOException {
        Path text = Files.writeString(folder.resolve("libcuda.so.1"), "not a library\n".repeat(99));
        assertEquals("invalid ELF header", failure(new CudaDriver(), text));
        assertEquals(
                "cannot open shared object file: No such file or directory",
                failure(new CudaDriver(), folder.resolve("libcuda.so.2")));
    }

    @Test
    void libraryOfAnotherMachineIsNotAsked() throws Exception {
        Path library = TestingLibcuda.make(folder, "*version = 12020; return 0;");
        byte[] elf = Files.readAllBytes(library);
        elf[18] = (byte) 0xf3; // e_machine: RISC-V
        Files.write(library, elf);
        String message = failure(new CudaDriver(), library);
        assertTrue(message.contains("cannot open shared object file"), message);
    }

    @Test
    void libraryWithoutTheCallIsNotAsked() throws Exception {
        Path library = TestingLibcuda.compile(folder, "libcuda.so.1", "int other;");
        String message = failure(new CudaDriver(), library);
        assertTrue(message.contains("cuDriverGetVersion"), message);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "echo cuDriverGetVersion: 12020; exit 1",
                "echo cuDriverGetVersion: 12020; kill -SEGV $$",
                "echo cuDriverGetVersion: 12020x",
                "echo x cuDriverGetVersion: 12020",
                "echo cuDriverGetVersion: 12020202020202020",
                "echo cuDriverGetVersion: 12 020",
                "echo 12020",
                "head -c 1000 /dev/urandom",
                ":"
            })
    void garbageIsNoAnswer(String script) {
        String message = failure(shell(script, LONG), folder.resolve("libcuda.so.1"));
        assertTrue(message.startsWith("asking it ends with exit code "), message);
        assertTrue(message.length() < 700, message);
    }

    @Test
    void whoTalksWithoutEndIsGivenUp() {
        String message = failure(shell("exec yes", LONG), folder.resolve("libcuda.so.1"));
        assertEquals("it writes more than 65536 bytes", message);
    }

    @Test
    void whoLeavesAProcessBehindThatHoldsTheOutputIsGivenUp() {
        // Java closes the output of a program that has ended if no thread reads it by then.
        String script = "sleep 60 & sleep 1; echo cuDriverGetVersion: 12020; sleep 1; exit 0";
        String message =
                failure(shell(script, Duration.ofSeconds(4)), folder.resolve("libcuda.so.1"));
        assertEquals("it does not end within 4000 ms", message);
    }

    @Test
    void childKnowsNothingOfOurEnvironment() throws IOException {
        File seen = folder.resolve("environment").toFile();
        String script = "/usr/bin/env > " + seen + "; echo; echo cuDriverGetVersion: 12020";
        assertEquals(
                new CudaVersion(12, 2), shell(script, LONG).ask(folder.resolve("libcuda.so.1")));
        List<String> variables = new ArrayList<>(Files.readAllLines(seen.toPath()));
        variables.removeIf(line -> line.matches("(PWD|SHLVL|OLDPWD|_)=.*")); // the shell's own
        assertEquals(
                List.of("LC_ALL=C.UTF-8", "LD_LIBRARY_PATH=" + folder),
                variables.stream().sorted().toList());
    }
}
