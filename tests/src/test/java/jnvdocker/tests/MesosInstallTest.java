package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** {@code jnvdocker mesos install}: the directory from which a Mesos agent starts its helpers. */
class MesosInstallTest extends OneDaemonTest {
    private static final List<String> HELPERS =
            List.of("mesos-executor", "mesos-fetcher", "mesos-io-switchboard");

    private Path directory;
    private Path launcher;
    private Path libexec;

    @BeforeEach
    void makeDirectories() throws IOException {
        directory = Directories.make("mesos");
        launcher = directory.resolve("launcher");
        libexec = libexec("libexec");
    }

    @AfterEach
    void removeDirectories() {
        Directories.remove(directory);
    }

    /** Makes an agent's helpers, each of which prints its name and arguments. */
    private Path libexec(String name) throws IOException {
        Path made = Files.createDirectories(directory.resolve(name));
        for (String helper : HELPERS) {
            helper(made.resolve(helper));
        }
        helper(made.resolve("mesos-containerizer"));
        Files.createDirectories(made.resolve("doc"));
        return made;
    }

    private static void helper(Path file) throws IOException {
        program(file, "echo \"$0 $*\"\nexit 7");
    }

    private Command.Result install() {
        return install(launcher, libexec);
    }

    private Command.Result install(Object launcherDir, Object mesosLibexec) {
        return daemon.jnvdocker(
                        "mesos",
                        "install",
                        "--launcher-dir",
                        launcherDir,
                        "--mesos-libexec",
                        mesosLibexec)
                .in(directory)
                .run();
    }

    private List<String> listing(Path of) throws IOException {
        try (Stream<Path> files = Files.list(of)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    private void assertRefused(String message, Command.Result result) {
        assertEquals(125, result.exitCode(), result::toString);
        assertTrue(result.err().startsWith("jnvdocker: " + message), result::toString);
        assertEquals("", result.out());
    }

    @Test
    void anAgentThatStartsItsHelpersFromTheDirectoryFindsThemAll() throws IOException {
        Command.Result result = install().ok();
        assertEquals(
                "created "
                        + launcher
                        + " with links to 3 programs in "
                        + libexec
                        + "\nstart the agent with:\n    --resources=gpus:4\n",
                result.out().replaceFirst("(?s)    --isolation.*", ""));
        assertTrue(result.out().contains("\n    --launcher_dir=" + launcher + "\n"));
        assertEquals("", result.err());
        assertEquals(
                List.of(
                        "jnvdocker-prestart",
                        "mesos-containerizer",
                        "mesos-executor",
                        "mesos-fetcher",
                        "mesos-io-switchboard"),
                listing(launcher));
        for (String helper : HELPERS) {
            assertEquals(libexec.resolve(helper), Files.readSymbolicLink(launcher.resolve(helper)));
        }
        for (String ours : List.of("mesos-containerizer", "jnvdocker-prestart")) {
            Path file = launcher.resolve(ours);
            assertTrue(Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS));
            assertEquals(0755, (Integer) Files.getAttribute(file, "unix:mode") & 07777);
            assertEquals(0, Files.getAttribute(file, "unix:uid"));
        }
        assertArrayEquals(
                Files.readAllBytes(Project.tree().resolve("lib/mesos/jnvdocker-prestart")),
                Files.readAllBytes(launcher.resolve("jnvdocker-prestart")));
    }

    /** The path of the agent's own helper is fixed, wherever the program is started from. */
    @Test
    void whatIsNoLaunchGoesToTheAgentsOwnHelper() throws IOException {
        install("launcher", "./libexec/").ok();
        Path copy = Files.copy(launcher.resolve("mesos-containerizer"), directory.resolve("copy"));
        Command.of("chmod", "755", copy).run().ok();
        Command.Result result = Command.of(copy, "network-cni-setup", "--pid=1").run();
        assertEquals(7, result.exitCode(), result::toString);
        assertEquals(
                libexec.resolve("mesos-containerizer") + " network-cni-setup --pid=1\n",
                result.out());
    }

    @Test
    void againItIsTheSame() throws IOException {
        install().ok();
        byte[] settled = Files.readAllBytes(launcher.resolve("mesos-containerizer"));
        List<String> names = listing(launcher);
        Files.writeString(launcher.resolve(".mesos-containerizer.new"), "of one that was killed");
        install().ok();
        assertEquals(names, listing(launcher));
        assertArrayEquals(settled, Files.readAllBytes(launcher.resolve("mesos-containerizer")));
        assertFalse(
                daemon.jnvdocker("mesos", "flags", "--launcher_dir=" + launcher)
                        .run()
                        .ok()
                        .err()
                        .contains("does not have jnvdocker's"));
    }

    /** An upgrade needs no options: the earlier ones are remembered. */
    @Test
    void directoriesAreRemembered() throws IOException {
        install().ok();
        Command.Result flags = daemon.jnvdocker("mesos", "flags").run().ok();
        assertTrue(flags.out().endsWith("--launcher_dir=" + launcher + "\n"), flags::toString);
        assertFalse(flags.err().contains("does not have jnvdocker's"), flags::toString);
        helper(libexec.resolve("mesos-tcp-connect"));
        Command.Result again = daemon.jnvdocker("mesos", "install").run().ok();
        assertTrue(
                again.out().startsWith("created " + launcher + " with links to 4 programs in "),
                again::toString);
        Path other = directory.resolve("other");
        daemon.jnvdocker("mesos", "install", "--launcher_dir=" + other).run().ok();
        assertTrue(Files.isSymbolicLink(other.resolve("mesos-tcp-connect")));
        daemon.jnvdocker("mesos", "install", "--mesos_libexec=" + libexec("second")).run().ok();
        assertEquals(
                directory.resolve("second/mesos-executor"),
                Files.readSymbolicLink(other.resolve("mesos-executor")));
    }

    @Test
    void programsOfAnotherVersionAreReplacedWhenTheDaemonStarts() throws Exception {
        install().ok();
        Path program = launcher.resolve("mesos-containerizer");
        byte[] current = Files.readAllBytes(program);
        Files.writeString(program, "of another version", StandardOpenOption.APPEND);
        daemon.stop();
        daemon.jnvdocker("gpu", "ls").run().ok();
        Lab.await(() -> {
            try {
                return Arrays.equals(current, Files.readAllBytes(program))
                        ? List.of()
                        : List.of("it is still the other one");
            } catch (IOException e) {
                return List.of(e.toString());
            }
        });
    }

    @Test
    void damagedMemoryIsNamed() throws IOException {
        Path file = daemon.state().resolve("mesos-install");
        for (String text : List.of("", "/a", "a\nb\n", "/a\n/b\n/c\n", "/a\n/b\u0001\n")) {
            Files.writeString(file, text);
            assertRefused(
                    file + " is damaged: it should have two lines, each an absolute path; ",
                    daemon.jnvdocker("mesos", "flags").run());
        }
        install().ok();
        daemon.jnvdocker("mesos", "flags").run().ok();
    }

    @Test
    void linkToNowhereIsSkippedAndNamed() throws IOException {
        Path link = libexec.resolve("mesos-network-helper");
        Files.createSymbolicLink(link, Path.of("/nowhere/helper"));
        Command.Result result = install().ok();
        assertTrue(
                result.err()
                        .startsWith(
                                "jnvdocker: skipped "
                                        + link
                                        + ", a link to /nowhere/helper, which does not exist; "),
                result::toString);
        assertTrue(result.out().contains(" with links to 3 programs in "), result::toString);
        assertFalse(
                Files.exists(launcher.resolve("mesos-network-helper"), LinkOption.NOFOLLOW_LINKS));
    }

    @Test
    void linksFollowTheAgentToAnotherDirectory() throws IOException {
        install().ok();
        Path other = libexec("other");
        helper(other.resolve("mesos-tcp-connect"));
        install(launcher, other).ok();
        assertEquals(
                other.resolve("mesos-executor"),
                Files.readSymbolicLink(launcher.resolve("mesos-executor")));
        assertTrue(Files.isSymbolicLink(launcher.resolve("mesos-tcp-connect")));
    }

    @Test
    void whatIsNoAgentsDirectoryIsRefused() throws IOException {
        assertRefused(
                "there is no program " + directory.resolve("none/mesos-containerizer") + "; ",
                install(launcher, "none"));
        Command.of("chmod", "644", libexec.resolve("mesos-containerizer")).run().ok();
        assertRefused("there is no program ", install());
        assertFalse(Files.exists(launcher));
    }

    @Test
    void theAgentsOwnDirectoryIsNotLaidOut() throws IOException {
        byte[] own = Files.readAllBytes(libexec.resolve("mesos-containerizer"));
        String refusal = " is the agent's own directory, whose mesos-containerizer is needed; ";
        assertRefused(libexec + refusal, install(libexec, libexec));
        Path link = Files.createSymbolicLink(directory.resolve("link"), libexec);
        assertRefused(link + refusal, install(link, libexec));
        assertArrayEquals(own, Files.readAllBytes(libexec.resolve("mesos-containerizer")));
    }

    @Test
    void oursIsNotTakenForTheAgents() {
        install().ok();
        assertRefused(
                launcher.resolve("mesos-containerizer")
                        + " is jnvdocker's own, and would call itself; ",
                install(directory.resolve("second"), launcher));
    }

    @Test
    void somebodyElsesFilesAreLeftAlone() throws IOException {
        for (String name : List.of("mesos-executor", "mesos-containerizer", "notes.txt")) {
            Path file = Files.createDirectories(launcher).resolve(name);
            Files.writeString(file, "mine");
            assertRefused(file + " does not belong to jnvdocker; ", install());
            assertEquals(List.of(name), listing(launcher));
            assertEquals("mine", Files.readString(file));
            Files.delete(file);
        }
    }

    @Test
    void aDirectoryThatOthersMayWriteToIsRefused() throws IOException {
        Files.createDirectories(launcher);
        for (String mode : List.of("775", "757", "1777")) {
            Command.of("chmod", mode, launcher).run().ok();
            assertRefused("users other than root can write to " + launcher + ", ", install());
        }
        Command.of("chmod", "755", launcher).run().ok();
        Command.of("chown", "61001", launcher).run().ok();
        assertRefused("users other than root can write to " + launcher + ", ", install());
        Command.of("chown", "0", launcher).run().ok();
        Command.of("chmod", "777", directory).run().ok();
        assertRefused("users other than root can write to " + directory + ", ", install());
        assertEquals(List.of(), listing(launcher));
    }

    @Test
    void aHostWithoutADriverCanBePreparedForOne() {
        try (DriverRoot bare = DriverRoot.make(DriverRoot.Release.DRIVER_535);
                TestDaemon idle = new TestDaemon(bare)) {
            Directories.remove(bare.directory().resolve("proc"));
            Directories.remove(bare.directory().resolve("sys"));
            Command.Result result =
                    idle.jnvdocker(
                                    "mesos",
                                    "install",
                                    "--launcher-dir=" + launcher,
                                    "--mesos-libexec=" + libexec)
                            .run()
                            .ok();
            assertTrue(
                    result.out().contains("start the agent with:\n    --launcher_dir=" + launcher),
                    result::toString);
            assertTrue(
                    result.err()
                            .contains(
                                    "jnvdocker: run 'jnvdocker mesos flags' later for the flags"
                                            + " about GPUs: no NVIDIA driver is loaded"),
                    result::toString);
        }
    }

    @Test
    void onlyRootLaysItOut() throws IOException {
        Path client = daemon.socket().getParent().resolveSibling("jnvdocker");
        Command.of("cp", "-a", Project.tree().resolve("bin/jnvdocker"), client).run().ok();
        Command.of("chmod", "755", client.getParent()).run().ok();
        String group = Command.of("stat", "-c", "%g", daemon.socket()).run().ok().out().strip();
        Command.Result result =
                Command.of(
                                client,
                                "mesos",
                                "install",
                                "--launcher-dir=" + launcher,
                                "--mesos-libexec=" + libexec)
                        .as(61001, group)
                        .with(daemon.environment())
                        .run();
        assertRefused(
                "only root may install jnvdocker for a Mesos agent: sudo jnvdocker mesos install",
                result);
        assertFalse(Files.exists(launcher));
    }
}
