package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Project;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Vulnerabilities of similar tools, which jnvdocker must not have. */
class SecurityTest extends OneEngineTest {
    /** The value of each field that an image can set. */
    private static final String EVIL = "EVIL $(touch /tmp/evil) --privileged\n../../etc/passwd";

    @BeforeAll
    static void makeImages() {
        lab.engine()
                .image(
                        "evil",
                        "--small",
                        "--label",
                        "com.nvidia.volumes.needed=nvidia_driver",
                        "--label",
                        "jnvdocker.claim=../../../etc",
                        "--label",
                        "jnvdocker.gpus=" + EVIL.replace('\n', ' '),
                        "--label",
                        "EVIL=--volume=/:/host",
                        "--env",
                        "NVIDIA_VISIBLE_DEVICES=EVIL,--privileged,../../dev/sda",
                        "--env",
                        "NVIDIA_DRIVER_CAPABILITIES=compute,--device=/dev/sda",
                        "--env",
                        "NV_GPU=EVIL",
                        "--env",
                        "NV_DOCKER=/EVIL",
                        "--env",
                        "DOCKER_HOST=tcp://EVIL:2375",
                        "--env",
                        "JNVDOCKER_STATE_DIR=/EVIL",
                        "--env",
                        "LD_PRELOAD=/proc/self/cwd/EVIL.so",
                        "--env",
                        "LD_LIBRARY_PATH=/opt/lib",
                        "--env",
                        "BASH_ENV=/EVIL",
                        "--change",
                        "WORKDIR /EVIL",
                        "--change",
                        "USER nobody",
                        "--change",
                        "VOLUME /EVIL");
        // The images request volumes whose names would be a file or an option if taken for one.
        lab.engine()
                .image(
                        "files",
                        "--small",
                        "--label",
                        "com.nvidia.volumes.needed=nvidia_driver ../../etc");
        lab.engine()
                .image("option", "--small", "--label", "com.nvidia.volumes.needed=--privileged");
    }

    /** Only an image's search paths are passed on, each as a single word after its option. */
    @Test
    void nothingThatAnImageSaysReachesDockersOptionsOrSurroundings() throws IOException {
        Command.Result plain = typed("plain", "--gpus", "device=1");
        Command.Result evil = typed("evil", "--gpus", "device=1");
        List<String> expected = new ArrayList<>(facts(plain, "argument="));
        expected.replaceAll(argument ->
                argument.equals("argument=plain")
                        ? "argument=evil"
                        : argument.replace("LD_LIBRARY_PATH=", "LD_LIBRARY_PATH=/opt/lib:"));
        assertEquals(withoutClaim(expected), withoutClaim(facts(evil, "argument=")));
        assertEquals(facts(plain, "environment="), facts(evil, "environment="));
        assertEquals(facts(plain, "directory="), facts(evil, "directory="));
        assertFalse(evil.toString().contains("EVIL"), evil::toString);
        assertFalse(Files.exists(Path.of("/tmp/evil")));
        assertFalse(lab.log().contains("EVIL"), lab::log);
    }

    /** Runs a program that prints its arguments in place of docker. */
    private static Command.Result typed(String image, Object... options) {
        List<Object> words = new ArrayList<>(List.of("run"));
        words.addAll(List.of(options));
        words.addAll(List.of(image, "true"));
        return lab.daemon()
                .jnvdocker(words.toArray())
                .with("NV_DOCKER", Project.fixture("bin/docker"))
                .run()
                .ok();
    }

    private static List<String> facts(Command.Result result, String kind) {
        return result.out().lines().filter(line -> line.startsWith(kind)).toList();
    }

    private static List<String> withoutClaim(List<String> arguments) {
        return arguments.stream()
                .map(argument ->
                        argument.replaceAll("(claim[_=])[0-9a-f]{12}-[0-9a-f]{32}", "$1ID"))
                .toList();
    }

    @Test
    void volumesThatAnImageNamesAreTheDriversOrNone() {
        for (String image : List.of("files", "option")) {
            Command.Result result = lab.jnvdocker("run", "--rm", image, "true");
            assertEquals(125, result.exitCode(), result::toString);
            assertTrue(
                    result.err().startsWith("jnvdocker: unsupported volume: "), result::toString);
        }
    }

    /** An image's environment applies to its container, and to no process of the host. */
    @Test
    void whatAnImageSetsStaysInItsContainer() throws IOException {
        lab.jnvdocker(
                        "run",
                        "-d",
                        "--name",
                        "evil",
                        "--user",
                        "root",
                        "--gpus",
                        "device=1",
                        "evil",
                        "sleep",
                        "1000")
                .ok();
        String lease = lab.docker("exec", "evil", "cat", "/run/jnvdocker/lease.json").ok().out();
        assertTrue(lease.contains("GPU-5c1a1003-1d2c-4e5f-8a9b-012345678901"), lease);
        String daemon = Files.readString(Path.of("/proc/" + pid() + "/environ"));
        assertFalse(daemon.contains("EVIL"), daemon);
        // None of the image's labels is taken for one of ours.
        assertEquals(1, lab.registry().live().size());
        assertTrue(
                lab.inspect("evil", "{{index .Config.Labels \"jnvdocker.claim\"}}")
                        .matches("[0-9a-f]{12}-[0-9a-f]{32}"));
    }

    private static long pid() {
        return lab.daemon().pid().orElseThrow();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "../../etc",
                "nvidia_driver_../../etc",
                "nvidia_driver_535.104.05/../../x",
                "jnvdocker_claim_../../../etc",
                "jnvdocker_claim_",
                "jnvdocker_claim_0123456789ab",
                "jnvdocker_claim_0123456789ab-0123456789abcdef0123456789abcdef/x",
                "nvidia_driver_\\u0000535.104.05",
                "nvidia_driver_535.104.05\\n",
                "/etc/passwd",
                "nvidia_driver_1.1e9",
                "--privileged",
                ".",
            })
    void volumeOfAnotherNameIsNoVolume(String name) throws IOException {
        Set<Path> before = files();
        for (String verb : List.of("Create", "Mount", "Path", "Get", "Unmount", "Remove")) {
            String answer = plugin(verb, "{\"Name\":\"" + name + "\",\"ID\":\"x\"}");
            assertTrue(answer.matches("\\{\"Err\":\"[^\"].*\"}\n"), verb + ": " + answer);
            assertFalse(answer.contains("Exception"), answer);
        }
        assertEquals(before, files());
    }

    /** The files of the state directory, except for the registry and the contents of volumes. */
    private static Set<Path> files() throws IOException {
        try (Stream<Path> all = Files.walk(lab.daemon().state(), 3)) {
            return all.filter(file -> !file.toString().contains("registry.db"))
                    .collect(Collectors.toSet());
        }
    }

    private static String plugin(String verb, String json) {
        return Command.of(
                        "curl",
                        "-s",
                        "--unix-socket",
                        lab.daemon().pluginSocket(),
                        "-H",
                        "Accept: application/vnd.docker.plugins.v1.2+json",
                        "-d",
                        json,
                        "http://plugin/VolumeDriver." + verb)
                .run()
                .ok()
                .out();
    }

    /** A container has only the access that it needs: it can make no node and change no file. */
    @Test
    void containerGetsItsNodesToReadAndWriteAndTheDriverToRead() {
        lab.jnvdocker(
                        "run",
                        "-d",
                        "--name",
                        "train",
                        "--gpus",
                        "device=1",
                        "plain",
                        "sleep",
                        "1000")
                .ok();
        assertEquals(
                "/dev/nvidia-uvm rw\n/dev/nvidia-uvm-tools rw\n/dev/nvidia1 rw\n/dev/nvidiactl rw",
                lab.inspect(
                                "train",
                                "{{range .HostConfig.Devices}}{{.PathInContainer}}"
                                        + " {{.CgroupPermissions}}\n{{end}}")
                        .lines()
                        .sorted()
                        .collect(Collectors.joining("\n")));
        assertEquals(
                "/run/jnvdocker false\n/usr/local/nvidia false",
                lab.inspect("train", "{{range .Mounts}}{{.Destination}} {{.RW}}\n{{end}}")
                        .lines()
                        .sorted()
                        .collect(Collectors.joining("\n")));
        assertEquals(
                "",
                lab.docker(
                                "exec",
                                "train",
                                "sh",
                                "-c",
                                "find /usr/local/nvidia /run/jnvdocker -perm /6022 ! -type l;"
                                        + " find /usr/local/nvidia ! -user 0;"
                                        + " ls /usr/local/nvidia/bin | grep modprobe")
                        .out());
        assertEquals("false", lab.inspect("train", "{{.HostConfig.Privileged}}"));
        assertEquals("[]", lab.inspect("train", "{{.HostConfig.CapAdd}}"));
    }

    /** Nvidia-docker 1.0 answered all users of the host over TCP. */
    @Test
    void nobodyIsServedOverTheNetwork() throws IOException {
        Set<String> sockets;
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/" + pid() + "/fd"))) {
            sockets =
                    descriptors
                            .map(SecurityTest::target)
                            .filter(target -> target.startsWith("socket:["))
                            .map(target -> target.replaceAll("\\D", ""))
                            .collect(Collectors.toSet());
        }
        assertFalse(sockets.isEmpty());
        for (String protocol : List.of("tcp", "tcp6", "udp", "udp6")) {
            for (String line : Files.readAllLines(Path.of("/proc/" + pid() + "/net/" + protocol))) {
                String[] fields = line.strip().split(" +");
                assertFalse(fields.length > 9 && sockets.contains(fields[9]), line);
            }
        }
    }

    private static String target(Path link) {
        try {
            return Files.readSymbolicLink(link).toString();
        } catch (IOException e) {
            return ""; // closed meanwhile
        }
    }

    /** Access is for root and the group only: data that names a claim or a process is private. */
    @Test
    void directoriesAndSocketsAreForThoseWhoMayUseThem() {
        lab.run("train", 1);
        Path state = lab.daemon().state();
        assertEquals("600", mode(lab.daemon().pluginSocket()));
        assertEquals("660", mode(lab.daemon().socket()));
        assertEquals("0 0", stat("%u %g", state.resolve("registry.db")));
        Path claim = state.resolve("claims").resolve(lab.registry().claims().iterator().next());
        assertEquals("711", mode(claim));
        assertEquals("600", mode(claim.resolve("claim.json")));
        assertEquals("644", mode(claim.resolve("mount/lease.json")));
        for (Path file : List.of(state, state.resolve("registry.db"), state.resolve("claims"))) {
            assertFalse(mode(file).matches(".*[2367]|.*[2367]."), file + " " + mode(file));
        }
    }

    private static String mode(Path file) {
        return stat("%a", file);
    }

    private static String stat(String format, Path file) {
        return Command.of("stat", "-c", format, file).run().ok().out().strip();
    }
}
