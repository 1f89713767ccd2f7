package jnvdocker.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

class BootIdTest {
    private static final String FILE = "/proc/sys/kernel/random/boot_id";

    @TempDir Path root;

    @Test
    void isReadBeneathTheHost() throws IOException {
        String id = "0b9ec1d6-4a2a-4f0e-9c5b-3c1d2e3f4a5b";
        Host host = new TestingProc(root).file(FILE, id + "\n").host();
        assertEquals(id, BootId.read(host));
    }

    @Test
    void hostWithoutOneBootsWithThisMachine() throws IOException {
        String ours = Files.readString(Path.of(FILE)).strip();
        assertEquals(ours, BootId.read(Host.at(root)));
        assertEquals(ours, BootId.read(Host.at(Path.of("/"))));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "second boot",
                "0123456789012345678901234567890123456789012345678901234567890123456789"
            })
    void somethingElseIsRefused(String text) throws IOException {
        TestingProc proc = new TestingProc(root.toRealPath()).file(FILE, text);
        var error = assertThrows(IOException.class, () -> BootId.read(proc.host()));
        assertEquals(proc.path(FILE) + " holds no boot id, but '" + text + "'", error.getMessage());
    }
}
