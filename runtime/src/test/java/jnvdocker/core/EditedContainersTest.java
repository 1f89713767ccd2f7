package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.oci.lease.EditedContainers;
import jnvdocker.oci.lease.EditedContainers.SetVariable;
import jnvdocker.use.Observer;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** Which variables were set in which container, and for how long that is known. */
class EditedContainersTest {
    private static final List<SetVariable> SET =
            List.of(
                    new SetVariable("NVIDIA_VISIBLE_DEVICES", "void", "GPU-1"),
                    new SetVariable("LD_LIBRARY_PATH", null, "/usr/local/nvidia/lib"));

    @TempDir Path directory;
    private Path files;
    private Path bundle;
    private EditedContainers edited;

    @BeforeEach
    void open() throws IOException {
        files = directory.resolve("run/runtime");
        bundle = Files.createDirectory(directory.resolve("bundle"));
        edited = EditedContainers.in(files);
    }

    @Test
    void itsFileIsNamedLikeItUntilTheEngineDeletesIt() throws IOException {
        edited.put("c1", bundle, SET, Optional.empty());
        edited.put(
                "c2",
                Files.createDirectory(directory.resolve("other")),
                List.of(),
                Optional.empty());
        edited.tidy();
        assertEquals(SET, edited.variables("c1"));
        assertTrue(edited.has("c2") && Files.isRegularFile(files.resolve("c2")));
        Files.delete(bundle);
        edited.tidy();
        assertEquals(List.of(), edited.variables("c1"));
        assertFalse(edited.has("c1") || Files.exists(files.resolve("c1")));
        assertTrue(edited.has("c2"));
    }

    @Test
    void nextDaemonKnowsThemToo() throws IOException {
        edited.put("c1", bundle, SET, Optional.empty());
        edited.put("gone", directory.resolve("gone"), SET, Optional.empty());
        edited = EditedContainers.in(files);
        assertEquals(SET, edited.variables("c1"));
        edited.tidy();
        assertTrue(edited.has("c1"));
        assertFalse(edited.has("gone") || Files.exists(files.resolve("gone")));
    }

    @Test
    void observerIsKnownToTheNextDaemonUntilItsEngineDeletesIt() throws IOException {
        Observer observer =
                new Observer(
                        "c1",
                        "dcgm",
                        Optional.of("nvcr.io/nvidia/dcgm-exporter:4"),
                        "root",
                        Instant.ofEpochMilli(1_700_000_000_123L));
        edited.put("c1", bundle, SET, Optional.of(observer));
        edited.put("c2", bundle, SET, Optional.empty());
        for (int daemon = 0; daemon < 2; daemon++) {
            assertEquals(List.of(observer), edited.running());
            assertTrue(edited.observes("c1"));
            assertFalse(edited.observes("c2"));
            edited = EditedContainers.in(files);
        }
        edited.renamed("c1", "exporter");
        edited.renamed("c2", "job");
        edited.renamed("c3", "other");
        for (int daemon = 0; daemon < 2; daemon++) {
            assertEquals(
                    List.of("exporter"), edited.running().stream().map(Observer::name).toList());
            assertEquals(SET, edited.variables("c1"));
            assertFalse(edited.has("c3"));
            edited = EditedContainers.in(files);
        }
        Files.delete(bundle);
        assertEquals(List.of(), edited.running());
        assertFalse(edited.observes("c1"));
    }

    @Test
    void nextStartMayHoldGpusInstead() {
        edited.put(
                "c1",
                bundle,
                SET,
                Optional.of(new Observer("c1", "x", Optional.empty(), "?", Instant.EPOCH)));
        edited.put("c1", bundle, SET, Optional.empty());
        assertEquals(List.of(), edited.running());
    }

    @Test
    void nextStartMayHaveOthersOrNone() {
        edited.put("c1", bundle, SET, Optional.empty());
        edited.put("c1", bundle, SET.subList(0, 1), Optional.empty());
        assertEquals(SET.subList(0, 1), edited.variables("c1"));
        edited.forget("c1");
        edited.forget("c1");
        assertEquals(List.of(), edited.variables("c1"));
    }

    /** Nobody will ever write to the pipe. */
    @Test
    void filesOfAnotherKindAreRemoved() throws Exception {
        for (String text : List.of("", "{", "[]", "{\"bundle\": 1}", "{\"bundle\": \"x\"}")) {
            Files.writeString(files.resolve("c" + text.length()), text);
        }
        new ProcessBuilder("mkfifo", files.resolve("pipe").toString()).start().waitFor();
        EditedContainers.in(files);
        try (var left = Files.list(files)) {
            assertEquals(List.of(), left.toList());
        }
    }
}
