package jnvdocker.oci.root;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.container.CompatLibraries;
import jnvdocker.labels.DriverVersion;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Images with CUDA libraries of driver 550.54.15, with the note of NVIDIA's and without. */
@Timeout(60)
class CudaCompatTest {
    private static final String NOTE =
            """
            __asm__(".section .note.cuda.fwd_compatibility,\\"a\\",@note\\n"
                    ".balign 4\\n.long 19\\n.long 2f-1f\\n.long 1\\n"
                    ".asciz \\"NVIDIA Corporation\\"\\n.balign 4\\n"
                    "1: .asciz \\"%s\\"\\n2:\\n.balign 4\\n.previous\\n");
            """;

    @TempDir Path root;
    private Path compat;

    @BeforeEach
    void makeRoot() throws IOException {
        Files.createDirectories(root.resolve("usr/local"));
        compat = Files.createDirectories(root.resolve("opt/cuda-12.4/compat"));
        Files.createDirectories(root.resolve("etc/alternatives"));
        Files.createSymbolicLink(root.resolve("usr/local/cuda"), Path.of("/etc/alternatives/cuda"));
        Files.createSymbolicLink(root.resolve("etc/alternatives/cuda"), Path.of("/opt/cuda-12.4"));
        Files.createSymbolicLink(compat.resolve("libcuda.so.1"), Path.of("libcuda.so.550.54.15"));
    }

    private void library(String json) throws Exception {
        String source = json.isEmpty() ? "" : NOTE.formatted(json.replace("\"", "\\\\\\\""));
        Process gcc =
                new ProcessBuilder(
                                "gcc",
                                "-shared",
                                "-nostdlib",
                                "-x",
                                "c",
                                "-",
                                "-o",
                                compat.resolve("libcuda.so.550.54.15").toString())
                        .inheritIO()
                        .redirectInput(ProcessBuilder.Redirect.PIPE)
                        .start();
        try (var in = gcc.getOutputStream()) {
            in.write(source.getBytes());
        }
        assertEquals(0, gcc.waitFor());
    }

    private boolean isUsed(String host) {
        return CudaCompat.of(root, DriverVersion.parse(host)).isUsed();
    }

    @ParameterizedTest
    @CsvSource({
        "535.104.05, true",
        "550.40.07, true",
        "550.54.15, false",
        "550.90.07, false",
        "545.23.06, false",
        "560.35.03, false"
    })
    void noteNamesTheBranchesOfOlderDrivers(String host, boolean used) throws Exception {
        library("{\"Format\": 1, \"CUDA Version\": \"12.4\", \"Driver\": [470, 535, 550, 560]}");
        assertEquals(used, isUsed(host));
    }

    @ParameterizedTest
    @CsvSource({"470.57.02, true", "545.23.06, true", "550.40.07, false", "560.35.03, false"})
    void withoutNoteTheBranchDecides(String host, boolean used) throws Exception {
        library("");
        assertEquals(used, isUsed(host));
    }

    @Test
    void loaderFindsItsLibraries() throws Exception {
        library("");
        Files.createFile(compat.resolve("libnvidia-nvvm.so.4"));
        Files.createFile(compat.resolve("README"));
        CompatLibraries found = CudaCompat.of(root, DriverVersion.parse("535.104.05"));
        assertEquals("/usr/local/cuda/compat", found.directory());
        assertEquals(
                List.of("libcuda.so.1", "libnvidia-nvvm.so.4"),
                found.names().stream().sorted().toList());
    }

    @Test
    void imageThatIsAmbiguousOrHostileHasNone() throws Exception {
        library("");
        Path second = Files.createFile(compat.resolve("libcuda.so.560.1.1"));
        assertEquals(CompatLibraries.NONE, CudaCompat.of(root, DriverVersion.parse("470.1.1")));
        Files.delete(second);
        Path library = compat.resolve("libcuda.so.550.54.15");
        byte[] whole = Files.readAllBytes(library);
        Files.delete(library);
        new ProcessBuilder("mkfifo", library.toString()).start().waitFor();
        assertEquals(CompatLibraries.NONE, CudaCompat.of(root, DriverVersion.parse("470.1.1")));
        Files.delete(library);
        Files.createSymbolicLink(library, Path.of("/proc/self/exe"));
        assertEquals(CompatLibraries.NONE, CudaCompat.of(root, DriverVersion.parse("470.1.1")));
        Files.delete(library);
        for (int length = 0; length < 64; length += 7) {
            Files.write(library, java.util.Arrays.copyOf(whole, length));
            assertEquals(CompatLibraries.NONE, CudaCompat.of(root, DriverVersion.parse("470.1.1")));
        }
        // No position in its header leads anywhere else than into the file.
        for (int at = 16; at < 64; at++) {
            byte[] damaged = whole.clone();
            damaged[at] ^= (byte) 0xff;
            Files.write(library, damaged);
            CudaCompat.of(root, DriverVersion.parse("470.1.1"));
        }
    }
}
