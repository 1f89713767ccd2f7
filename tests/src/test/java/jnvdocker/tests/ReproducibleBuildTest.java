package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Project;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Two builds of the packages from the same classes and C sources have the same bytes. */
@Tag("docker")
@Tag("root")
class ReproducibleBuildTest {
    /**
     * Offline, since the first build has downloaded everything. With the classes of this build,
     * whose compilation takes longest and depends on nothing but the sources.
     */
    @Test
    void anotherBuildMakesTheSamePackages() throws IOException {
        Path copy = Directories.make("build");
        try {
            Command.of(
                            "sh",
                            "-ec",
                            "tar -c --exclude=.git --exclude=./tests/target --exclude=./target"
                                + " --exclude='*/target/[!ct]*' . | tar -x -C \"$1\"; cd \"$1\";"
                                + " mvn -o -q -B -P dist -DskipTests"
                                + " -Dmaven.compiler.useIncrementalCompilation=false verify -pl"
                                + " labels,native,volume-plugin,runtime,src",
                            "sh",
                            copy)
                    .in(Project.root())
                    .run()
                    .ok();
            for (String suffix : List.of(".deb", ".rpm", ".tar.gz", ".cdx.json")) {
                assertEquals(
                        -1,
                        Files.mismatch(Project.built(suffix), Project.built(copy, suffix)),
                        "where " + suffix + " differs");
            }
            String release = "src/target/apt/dists/stable/Release";
            assertEquals(
                    Files.readString(Project.root().resolve(release)),
                    Files.readString(copy.resolve(release)));
        } finally {
            Directories.remove(copy);
        }
    }
}
