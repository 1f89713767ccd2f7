package jnvdocker.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** The registry in a chroot, all of which is mounted there but the registry's directory. */
@Tag("root")
class RegistryChrootTest {
    private static final String SCRIPT =
            """
            cd "$1"
            mkdir state
            for each in /*; do
              if [ -h "$each" ]; then cp -P "$each" .; elif [ -d "$each" ]; then mkdir ".$each"; mount --bind "$each" ".$each"; fi
            done
            exec chroot . "$2" -cp "$3" jnvdocker.registry.RegistryChrootTest
            """;

    /** Runs in the chroot. */
    public static void main(String[] arguments) throws IOException {
        try {
            RegistryDatabase.open(Path.of("/state")).close();
        } catch (RegistryException e) {
            System.out.println(e.getMessage());
        }
    }

    @Test
    void directoryOnNoMountIsNamedWithTheRemedy(@TempDir Path root) throws Exception {
        Process java =
                new ProcessBuilder(
                                "unshare",
                                "--mount",
                                "sh",
                                "-ec",
                                SCRIPT,
                                "sh",
                                root.toString(),
                                System.getProperty("java.home") + "/bin/java",
                                System.getProperty("java.class.path"))
                        .redirectErrorStream(true)
                        .start();
        String out = new String(java.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, java.waitFor(), out);
        assertEquals(
                "cannot find the mount of /state (Mount point not found); in a chroot, make its"
                        + " directory a mount point first: mount --bind DIR DIR",
                out.lines().toList().getLast());
    }
}
