package jnvdocker.command.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;

/** Files belong to root. */
@Tag("root")
class JobFilesTest {
    private static final Job JOB =
            new Job(
                    5,
                    1000,
                    1000,
                    "alice",
                    "2026-11-28T07:00:00Z",
                    "run \u00fc",
                    new Job.Request(
                            "/home/\udcff",
                            List.of("run", "", "\u00fc\n\"$%"),
                            List.of("A=\udc80\ud83d\ude00")),
                    false,
                    null,
                    null,
                    null,
                    null);

    @TempDir Path state;

    @Test
    void recordIsReadAsItWasWritten() throws IOException {
        JobFiles files = JobFiles.in(state);
        Job later =
                JOB.launchedAs(new Job.Launch("boot", 17, 99))
                        .startedAs(new Job.Start("2026-11-28T07:01:00Z", null));
        Job ended =
                later.asCancelled()
                        .endedAs(new Job.End("2026-11-28T07:02:00Z", Job.Outcome.CANCELLED, null));
        for (Job job : List.of(JOB, later, ended)) {
            files.write(job);
            assertEquals(job, files.read(5));
            assertEquals(List.of(5L), files.ids());
        }
        assertEquals(
                "rw-------",
                java.nio.file.attribute.PosixFilePermissions.toString(
                        Files.getPosixFilePermissions(files.file(5))));
        files.delete(5);
        assertEquals(List.of(), files.ids());
    }

    private void assertRefused(JobFiles files, byte[] text) throws IOException {
        Files.write(files.file(5), text);
        IOException why = assertThrows(IOException.class, () -> files.read(5));
        assertTrue(
                why.getMessage().startsWith("cannot read " + files.file(5) + ": "),
                why::getMessage);
        assertEquals(List.of(5L), files.ids());
    }

    /** Nobody writes to the pipe, the device has no end, and the long file does not fit. */
    @ParameterizedTest
    @CsvSource({
        "mkfifo 5.json, is a named pipe",
        "mkdir 5.json, is a directory",
        "ln -s /nowhere 5.json, is a link",
        "ln -s /dev/zero 5.json, is a link",
        "mknod 5.json c 1 5, is not a regular file",
        "truncate -s 1G 5.json, is longer than",
        "touch 5.json; chown 4242 5.json, belongs to uid 4242"
    })
    void whatIsNoFileOfOursIsRefusedAtOnce(String command, String what) throws Exception {
        JobFiles files = JobFiles.in(state);
        var made =
                new ProcessBuilder("sh", "-c", command)
                        .directory(files.file(5).getParent().toFile())
                        .start();
        assertEquals(0, made.waitFor());
        IOException why =
                assertTimeoutPreemptively(
                        Duration.ofSeconds(20),
                        () -> assertThrows(IOException.class, () -> files.read(5)));
        assertTrue(why.getMessage().startsWith(files.file(5) + " " + what), why::getMessage);
        assertEquals(List.of(5L), files.ids());
    }

    @Test
    void whatIsNoRecordIsRefusedWithItsName() throws IOException {
        JobFiles files = JobFiles.in(state);
        files.write(JOB);
        String good = Files.readString(files.file(5));
        for (String bad :
                List.of(
                        "",
                        "null",
                        "[]",
                        "{}",
                        "7",
                        good + "{}",
                        good.replace("\"id\":5", "\"id\":6"),
                        good.replace("\"id\":5", "\"id\":-5"),
                        good.replace("\"uid\":1000,", ""),
                        good.replace("\"alice\"", "null"),
                        good.replace("2026-11-28T07:00:00Z", "yesterday"),
                        good.replace("\"cancelled\"", "\"other\""),
                        good.replace("\"end\":null", "\"end\":{\"at\":null}"),
                        good.replace("\"run\",", "null,"),
                        "[".repeat(100_000))) {
            assertRefused(files, bad.getBytes());
        }
        byte[] bytes = good.getBytes();
        Random random = new Random(7);
        for (int i = 0; i < 2000; i++) {
            byte[] changed = bytes.clone();
            changed[random.nextInt(changed.length)] = (byte) random.nextInt(256);
            Files.write(files.file(5), changed);
            try {
                assertEquals(5, files.read(5).id());
            } catch (IOException e) {
                assertTrue(e.getMessage().startsWith("cannot read " + files.file(5)), e::toString);
            }
        }
    }
}
