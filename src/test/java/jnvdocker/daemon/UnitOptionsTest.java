package jnvdocker.daemon;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;

/** Options that our service must not have. */
class UnitOptionsTest {
    /**
     * Options of systemd.exec(5) that give a service mounts of its own. dockerd would not see the
     * daemon's mounts for containers.
     */
    private static final Pattern MOUNTS =
            Pattern.compile(
                    "(Private(Mounts|Tmp|Devices|Users|IPC)|Protect(System|Home|Proc|Kernel\\w+"
                        + "|ControlGroups|Hostname)|MountFlags|MountImages|MountAPIVFS|RootDirectory"
                        + "|RootImage|ReadOnlyPaths|ReadWritePaths|InaccessiblePaths|NoExecPaths"
                        + "|ExecPaths|Bind(ReadOnly)?Paths|TemporaryFileSystem|ProcSubset"
                        + "|DynamicUser|LogNamespace|NetworkNamespacePath)\\s*=.*");

    @Test
    void serviceHasTheMountsOfTheHost() throws IOException {
        Path unit = Path.of("dist/lib/systemd/system/jnvdocker.service");
        assertEquals(
                List.of(),
                Files.readAllLines(unit).stream().filter(MOUNTS.asMatchPredicate()).toList());
    }
}
