package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.TestDaemon;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;

/**
 * {@code jnvdocker gpu needs}, for images in the engine and their archives by {@code docker save}.
 */
class ImageNeedsTest extends WantedEngineTest {
    private static final int ALICE = 23456;

    private Path directory;

    @BeforeEach
    void makeDirectory() {
        directory = Directories.make("needs");
    }

    @BeforeAll
    static void makeImages() {
        makeImages(lab.engine());
    }

    private static void makeImages(TestEngine engine) {
        engine.image(
                "cuda:12.4",
                "--small",
                "--env",
                "NVIDIA_VISIBLE_DEVICES=all",
                "--env",
                "NVIDIA_REQUIRE_CUDA=cuda>=12.4 driver>=470,driver<471");
        engine.image(
                "cuda:11.0",
                "--small",
                "--label",
                "com.nvidia.volumes.needed=nvidia_driver",
                "--label",
                "com.nvidia.cuda.version=11.0");
    }

    @AfterEach
    void removeDirectory() {
        Directories.remove(directory);
    }

    private static Command.Result needs(Object... arguments) {
        return needs(lab.daemon(), arguments).run();
    }

    private static Command needs(TestDaemon daemon, Object... arguments) {
        List<Object> words = new ArrayList<>(List.of("gpu", "needs"));
        words.addAll(Arrays.asList(arguments));
        return daemon.jnvdocker(words.toArray());
    }

    private static void assertRefused(String error, Command.Result result) {
        assertEquals(125, result.exitCode(), result::toString);
        assertEquals(error, result.err());
        assertEquals("", result.out());
    }

    private Path save(String name, String... images) {
        return save(lab, name, images);
    }

    private Path save(Lab from, String name, String... images) {
        Path file = directory.resolve(name);
        List<Object> words = new ArrayList<>(List.of("save", "-o", file));
        words.addAll(Arrays.asList(images));
        from.docker(words.toArray()).ok();
        return file;
    }

    private static String afterFirstLine(String text) {
        return text.substring(text.indexOf('\n') + 1);
    }

    @Test
    void imageThatNeedsANewerDriverIsNotMet() {
        Command.Result result = needs("cuda:12.4");
        assertEquals(1, result.exitCode(), result::toString);
        assertEquals("", result.err());
        String version = lab.host().version();
        assertEquals(
                """
                Image:         cuda:12.4
                GPUs:          yes (NVIDIA_VISIBLE_DEVICES=all)
                This host:     driver VERSION, CUDA version 12.2

                VARIABLE              ONE OF                   HERE
                NVIDIA_REQUIRE_CUDA   cuda>=12.4               not met: cuda is 12.2
                                      driver>=470,driver<471   not met: driver is VERSION

                Not met: unsatisfied condition: cuda>=12.4 (cuda is 12.2; NVIDIA_REQUIRE_CUDA of the image; 1 other alternative fails too); use driver 550 or newer (VERSION is loaded), an older image, or NVIDIA_DISABLE_REQUIRE=1
                """
                        .replace("VERSION", version),
                result.out());
        assertEquals(0, needs("cuda:11.0").exitCode());
        assertEquals(0, needs("plain").exitCode());
        assertTrue(needs("--json", "plain").ok().out().contains("\"gpus\" : false"));
    }

    @Test
    void missingImageIsNotPulled() {
        assertRefused(
                "jnvdocker: the Docker engine has no image 'nowhere:1', and none is pulled for"
                        + " this; pull it: docker pull nowhere:1 (or name a file: docker save -o"
                        + " FILE.tar)\n",
                needs("nowhere:1"));
    }

    @Test
    void savedImageSaysTheSameHoweverItIsCompressed() {
        for (String image : List.of("cuda:12.4", "cuda:11.0")) {
            Command.Result requested = needs(image);
            Path plain = save("image.tar", image);
            List<Path> files = new ArrayList<>(List.of(plain));
            Command.of("gzip", "-k", plain).run().ok();
            Command.of("zstd", "-q", "-f", plain).run().ok();
            files.add(directory.resolve("image.tar.gz"));
            files.add(directory.resolve("image.tar.zst"));
            for (Path file : files) {
                Command.Result result = needs(file);
                assertEquals(requested.exitCode(), result.exitCode(), result::toString);
                assertEquals("", result.err());
                Lab.assertMatches(
                        "Image:         " + image + " \\(linux/\\w+\\) in " + file + "\n[^~]*",
                        result.out());
                assertEquals(afterFirstLine(requested.out()), afterFirstLine(result.out()));
            }
            Command.of("rm", "-r", directory.resolve("image.tar.gz")).run().ok();
        }
    }

    /** The releases describe and save an image differently. */
    @Test
    void engineOfTheOtherReleaseAndItsArchivesSayTheSame() {
        TestEngine.Release release = EnumSet.complementOf(EnumSet.of(RELEASE)).iterator().next();
        try (Lab other = new Lab(release)) {
            makeImages(other.engine());
            for (String image : List.of("cuda:12.4", "cuda:11.0", "plain")) {
                Command.Result requested = needs(image);
                Command.Result others = needs(other.daemon(), image).run();
                assertEquals(requested, others);
                Command.Result saved = needs(save(other, "image.tar", image));
                assertEquals(requested.exitCode(), saved.exitCode(), saved::toString);
                assertEquals(afterFirstLine(requested.out()), afterFirstLine(saved.out()));
            }
        }
    }

    /** A newer Docker's archive is an OCI layout too; here only the layout is left in it. */
    @Test
    void layoutAloneSaysTheSame() {
        Path file = save("layout.tar", "cuda:12.4", "cuda:11.0");
        if (!Command.of("tar", "-tf", file).run().ok().out().contains("oci-layout")) {
            assertEquals(TestEngine.Release.DEBIAN_STABLE, RELEASE);
            return;
        }
        Path unpacked = directory.resolve("unpacked");
        Command.of("mkdir", unpacked).run().ok();
        Command.of("tar", "-xf", file, "-C", unpacked).run().ok();
        Command.of("rm", unpacked.resolve("manifest.json")).run().ok();
        Command.of("tar", "-cf", file, "-C", unpacked, ".").run().ok();
        for (String image : List.of("cuda:12.4", "cuda:11.0")) {
            Command.Result result = needs(file, "--image", image);
            assertEquals(afterFirstLine(needs(image).out()), afterFirstLine(result.out()));
        }
        assertTrue(needs(file).err().contains("has several images: "));
    }

    @Test
    void ofSeveralSavedImagesOneIsChosen() {
        Path file = save("both.tar", "cuda:12.4", "cuda:11.0");
        Command.Result several = needs(file);
        assertEquals(125, several.exitCode(), several::toString);
        Lab.assertMatches(
                "jnvdocker: "
                        + file
                        + ": has several images: cuda:1\\S+, cuda:1\\S+; name one of them with"
                        + " --image\n",
                several.err());
        assertEquals(0, needs(file, "--image", "cuda:11.0").exitCode());
        assertEquals(1, needs("--image=cuda:12.4", file).exitCode());
    }

    /** The daemon runs as root and could read it, but does not try. */
    @Test
    void fileIsReadAsTheUser() throws IOException {
        Path file = save("secret.tar", "cuda:11.0");
        Command.of("chmod", "600", file).run().ok();
        Command.of("chmod", "755", directory).run().ok();
        Path client = directory.resolve("jnvdocker");
        Files.copy(Project.tree().resolve("bin/jnvdocker"), client);
        Command.of("chmod", "755", client).run().ok();
        String group =
                Command.of("stat", "-c", "%g", lab.daemon().socket()).run().ok().out().strip();
        Command.of("chmod", "755", lab.daemon().socket().getParent().getParent()).run().ok();
        Command.Result result =
                Command.of(client, "gpu", "needs", "./secret.tar")
                        .as(ALICE, group)
                        .in(directory)
                        .with(lab.daemon().environment())
                        .with("LC_ALL", "C")
                        .run();
        assertRefused(
                """
                cat: ./secret.tar: Permission denied
                jnvdocker: ./secret.tar: cannot be read (cat, run as you, ended with exit code 1, see above); name a file that you may read
                """,
                result);
        assertEquals(0, needs(file).exitCode());
    }

    @Test
    void fileThatIsNoneIsRefused() throws IOException {
        assertRefused(
                """
                cat: no-such.tar: No such file or directory
                jnvdocker: no-such.tar: cannot be read (cat, run as you, ended with exit code 1, see above); name a file that you may read
                """,
                needs(lab.daemon(), "no-such.tar").with("LC_ALL", "C").run());
        Path text = Files.writeString(directory.resolve("x.tar"), "no archive\n".repeat(1000));
        Command.Result garbage = needs(text);
        assertEquals(125, garbage.exitCode());
        assertTrue(
                garbage.err().startsWith("jnvdocker: " + text + ": is damaged, cut short, or no"),
                garbage::toString);
        // An endless file is not read on, and the program that reads it is ended.
        Path endless =
                Files.createSymbolicLink(directory.resolve("endless.tar"), Path.of("/dev/zero"));
        assertRefused(
                "jnvdocker: "
                        + endless
                        + ": is empty, or no tar archive; save the image again with docker save\n",
                needs(endless));
        Path whole = save("whole.tar", "cuda:11.0");
        byte[] bytes = Files.readAllBytes(whole);
        Files.write(whole, Arrays.copyOf(bytes, bytes.length / 2));
        Command.Result half = needs(whole);
        assertEquals(125, half.exitCode());
        assertTrue(half.err().contains("; save the image again"), half::toString);
    }

    @Test
    void hostWithoutADriverShowsWhatIsNeeded() {
        Path file = save("image.tar", "cuda:11.0");
        try (DriverRoot bare = DriverRoot.make(DriverRoot.Release.DRIVER_535);
                TestDaemon idle = new TestDaemon(bare)) {
            Directories.remove(bare.directory().resolve("proc"));
            Directories.remove(bare.directory().resolve("sys"));
            Command.Result result = needs(idle, file).run();
            assertEquals(1, result.exitCode(), result::toString);
            assertTrue(
                    result.out()
                            .contains(
                                    "GPUs:          yes"
                                            + " (com.nvidia.volumes.needed=nvidia_driver)\n"),
                    result::toString);
            assertTrue(
                    result.out().contains("\nNot met: no NVIDIA driver is loaded"),
                    result::toString);
        }
    }

    @Test
    void wrongUsageIsExitCode2() {
        assertEquals(2, needs().exitCode());
        assertEquals(2, needs("").exitCode());
        assertEquals(2, needs("plain", "plain").exitCode());
        assertEquals(2, needs("plain", "--image", "plain").exitCode());
        assertFalse(needs("--help").ok().out().isEmpty());
    }
}
