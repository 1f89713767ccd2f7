package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/** {@code gpu remake}: a stopped container is made again on other GPUs, or stays as it was. */
class RemakeTest extends WantedEngineTest {
    private static final String NAME = "Train_7.b-";

    private Path directory;

    @BeforeEach
    void makeDirectory() {
        directory = Directories.make("remake");
    }

    @AfterEach
    void removeAll() {
        lab.engine().removeContainers();
        docker("network", "rm", "remake-1", "remake-2");
        docker("volume", "rm", "remake-data");
        Directories.remove(directory);
    }

    private static JsonNode inspect(String container) {
        Command.Result found = docker("container", "inspect", container);
        return found.json().path(0);
    }

    /** The settings of a container, without those that are its own or its GPUs'. */
    private static Map<String, String> settings(JsonNode container) {
        Map<String, String> settings = new TreeMap<>();
        ObjectNode config = container.path("Config").deepCopy();
        config.remove(List.of("Image", "AttachStdin", "AttachStdout", "AttachStderr", "Volumes"));
        ((ObjectNode) config.path("Labels")).remove("jnvdocker.claim");
        JsonNode env = config.remove("Env");
        settings.put("Env", sorted(env));
        config.properties().forEach(it -> settings.put(it.getKey(), "" + it.getValue()));
        ObjectNode host = container.path("HostConfig").deepCopy();
        host.remove(List.of("Binds", "Mounts", "ContainerIDFile", "ConsoleSize"));
        JsonNode devices = host.remove("Devices");
        settings.put("other devices", devices.toString().replaceAll("\\{[^}]*nvidia[^}]*},?", ""));
        host.properties().forEach(it -> settings.put(it.getKey(), unordered(it.getValue())));
        List<String> mounts = new ArrayList<>();
        for (JsonNode mount : container.path("Mounts")) {
            if (!mount.path("Name").asText().matches("(jnvdocker_claim|nvidia_driver)_.*")) {
                mounts.add(
                        mount.path("Type").asText()
                                + mount.path("Name")
                                + mount.path("Source")
                                + mount.path("Destination")
                                + mount.path("RW")
                                + mount.path("Propagation"));
            }
        }
        mounts.sort(null);
        settings.put("mounts", mounts.toString());
        for (var each : container.path("NetworkSettings").path("Networks").properties()) {
            String id = container.path("Id").asText().substring(0, 12);
            settings.put(
                    "network " + each.getKey(),
                    each.getValue().path("IPAMConfig").path("IPv4Address")
                            + sorted(each.getValue().path("Aliases")).replace(id, "ID"));
        }
        return settings;
    }

    /** Docker lists mounts and some other things in any order. */
    private static String unordered(JsonNode value) {
        Map<String, String> parts = new TreeMap<>();
        value.properties().forEach(it -> parts.put(it.getKey(), unordered(it.getValue())));
        return value.isArray() ? sorted(value) : value.isObject() ? "" + parts : "" + value;
    }

    private static String sorted(JsonNode array) {
        TreeSet<String> all = new TreeSet<>();
        array.forEach(it -> all.add(it.toString()));
        return all.toString();
    }

    /** Else it would have as many GPUs as another's container, and its time. */
    @Test
    void claimOfAnImagesLabelIsNotItsOwn() {
        lab.run("theirs", 0);
        String label =
                "LABEL jnvdocker.claim="
                        + lab.registry().key(lab.lease("theirs").path("claim").asText());
        docker("commit", "--change", label, "theirs", "labelled").ok();
        docker("create", "--name=plain", "labelled", "true").ok();
        Lab.assertRefused(
                "container plain has had no GPUs of ours",
                lab.daemon().jnvdocker("gpu", "remake", "plain"));
        docker("rmi", "-f", "labelled").ok();
    }

    /** The refusal of a start is one sentence, whose command does the rest. */
    @Test
    void containerIsMadeAgainWithAllItHas() throws IOException {
        docker("network", "create", "--subnet=10.213.7.0/24", "remake-1").ok();
        docker("network", "create", "--internal", "remake-2").ok();
        Path file = directory.resolve("it's a \"file\", with $(id)");
        Files.writeString(file, "text");
        lab.daemon()
                .jnvdocker(
                        "create",
                        "--name=" + NAME,
                        "--gpus=device=0",
                        "--network=remake-1",
                        "--ip=10.213.7.9",
                        "--network-alias=trainer",
                        "--hostname=lab",
                        "--domainname=example.org",
                        "-e=QUOTED=it's \"$HOME\" `id` \\ \n*",
                        "-e=PATH=/opt/own:/bin",
                        "-e=NVIDIA_DISABLE_REQUIRE=1",
                        "--label=say=it's $(reboot); \"&\"",
                        "-v=/anonymous",
                        "-v=" + directory + ":/host:ro,rslave",
                        "--mount=type=volume,src=remake-data,dst=/data dir",
                        "--mount=type=bind,\"src="
                                + file.toString().replace("\"", "\"\"")
                                + "\",dst=/file,readonly",
                        "--tmpfs=/scratch:size=1m",
                        "-p=127.0.0.1:18080:80",
                        "-p=18081:81/udp",
                        "--cap-add=SYS_PTRACE",
                        "--cap-drop=MKNOD",
                        "--security-opt=no-new-privileges",
                        "--memory=64m",
                        "--cpus=0.5",
                        "--pids-limit=100",
                        "--shm-size=8m",
                        "--ulimit=nofile=512:1024",
                        "--restart=on-failure:3",
                        "--log-driver=json-file",
                        "--log-opt=max-size=1m",
                        "--dns=10.0.0.1",
                        "--add-host=other:10.0.0.2",
                        "--group-add=7",
                        "--sysctl=net.ipv4.ip_unprivileged_port_start=0",
                        "--device=/dev/null:/dev/own:r",
                        "--device-cgroup-rule=c 1:3 rw",
                        "--oom-score-adj=100",
                        "--stop-timeout=3",
                        "--stop-signal=KILL",
                        "--health-cmd=true || 'false'",
                        "--user=0:7",
                        "--workdir=/tmp",
                        "--read-only=false",
                        "--init",
                        "-it",
                        "plain",
                        "sh",
                        "-c",
                        "test -e /anonymous/kept || echo 'first' > /anonymous/kept; echo \"$0\" >>"
                                + " /root/kept; exec sleep 1000",
                        "it's $0")
                .run()
                .ok();
        docker("network", "connect", "--alias=second", "remake-2", NAME);
        docker("start", NAME).ok();
        docker("stop", "-t0", NAME).ok();
        lab.awaitHolders(Map.of());
        lab.run("holder", 0);
        String refusal = docker("start", NAME).err();
        Lab.assertMatches(
                "(?s)Error.*: GPU 0 \\(GPU-5c1a0000\\) is held by \\S+'s container holder"
                        + SINCE
                        + "; start this container again when it is free, or make it again on other"
                        + " GPUs: jnvdocker gpu remake "
                        + NAME
                        + "\n.*",
                refusal);
        JsonNode before = inspect(NAME);
        Command.Result made = lab.jnvdocker("gpu", "remake", NAME).ok();
        Lab.assertMatches("made container " + NAME + " again \\([0-9a-f]{12}\\)\n", made.out());
        JsonNode after = inspect(NAME);
        assertEquals(text(settings(before)), text(settings(after)));
        lab.awaitTruth();
        assertEquals(List.of("holder", NAME), lab.registry().holders().values().stream().toList());
        assertEquals(
                "first\n2\n",
                docker("exec", NAME, "sh", "-c", "cat /anonymous/kept; wc -l < /root/kept")
                        .ok()
                        .out());
        assertEquals(List.of(NAME, "holder"), names());
    }

    private static String text(Map<String, String> settings) {
        StringBuilder text = new StringBuilder();
        settings.forEach((key, value) -> text.append(key).append(": ").append(value).append('\n'));
        return text.toString();
    }

    private static List<String> names() {
        return docker("ps", "-a", "--format", "{{.Names}}").ok().out().lines().sorted().toList();
    }

    private static String images() {
        return docker("image", "ls", "-aq").ok().out();
    }

    private static void assertIsAsItWas(String name, JsonNode before, String images) {
        assertEquals(unordered(before), unordered(inspect(name)));
        assertEquals(List.of(name), names());
        assertEquals(images, images());
        lab.awaitHolders(Map.of());
        docker("rm", name).ok();
        lab.awaitTruth();
    }

    /** The container's program is not there, or its network is gone. */
    @ParameterizedTest
    @ValueSource(strings = {"/no/such/program", "network"})
    void failureLeavesTheOldContainerAsItWas(String fault) {
        docker("network", "create", "--internal", "remake-1").ok();
        String network = fault.equals("network") ? "remake-1" : "none";
        String program = fault.equals("network") ? "true" : fault;
        lab.jnvdocker("create", "--name=old", "--net=" + network, "--gpus=1", "plain", program)
                .ok();
        docker("network", "rm", "remake-1").ok();
        JsonNode before = inspect("old");
        String images = images();
        Command.Result failed = lab.jnvdocker("gpu", "remake", "old", "--gpus", "2");
        assertEquals(125, failed.exitCode(), failed::toString);
        assertTrue(
                failed.err()
                        .endsWith(
                                "\njnvdocker: container old is not made again, and is as it was\n"),
                failed::toString);
        assertIsAsItWas("old", before, images);
    }

    /** The terminal's signal reaches the whole group, and finds docker in the midst of a step. */
    @ParameterizedTest
    @ValueSource(strings = {"commit", "create", "start"})
    void interruptLeavesTheOldContainerAsItWas(String step) throws IOException {
        lab.create("old", 1);
        JsonNode before = inspect("old");
        String images = images();
        Path mark = directory.resolve("mark");
        Path docker = directory.resolve("docker");
        Files.writeString(
                docker,
                """
                #!/bin/sh
                case " $* " in
                *' %s '*) docker "$@" && touch '%s' && exec sleep 1000 ;;
                esac
                exec docker "$@"
                """
                        .formatted(step, mark));
        Files.setPosixFilePermissions(docker, PosixFilePermissions.fromString("rwxr-xr-x"));
        Command.Result result =
                lab.daemon()
                        .jnvdocker("gpu", "remake", "old")
                        .with("NV_DOCKER", docker)
                        .after("setsid")
                        .run(process -> {
                            Lab.await(() -> Files.exists(mark) ? List.of() : List.of("no " + step));
                            Command.of("kill", "-INT", "--", "-" + process.pid()).run().ok();
                        });
        assertEquals(130, result.exitCode(), result::toString);
        assertTrue(
                result.err()
                        .endsWith("jnvdocker: container old is not made again, and is as it was\n"),
                result::toString);
        assertIsAsItWas("old", before, images);
    }

    @Test
    void gpusMayBeOthersAndMoreOrWaitedFor() {
        docker("create", "--name=old", "--net=none", "plain", "sleep", "1000").ok();
        Command.Result unknown = lab.jnvdocker("gpu", "remake", "old");
        assertEquals(125, unknown.exitCode());
        assertEquals(
                "jnvdocker: container old has had no GPUs of ours; say how many it is to have:"
                        + " --gpus 1\n",
                unknown.err());
        lab.jnvdocker("gpu", "remake", "old", "--gpus", "device=0,2").ok();
        lab.awaitHolders(Map.of(0, "old", 2, "old"));
        String env = inspect("old").path("Config").path("Env").toString();
        assertTrue(env.matches(".*\"PATH=[^\"]*:/usr/local/nvidia/bin\".*"), env);
        Command.Result runs = lab.jnvdocker("gpu", "remake", "old");
        assertEquals(
                "jnvdocker: container old is running; stop it first: docker stop old\n",
                runs.err());
        docker("kill", "old").ok();
        lab.awaitHolders(Map.of());
        lab.run("holder", 3);
        Command.Result taken = lab.jnvdocker("gpu", "remake", "old", "--gpus=all");
        assertEquals(125, taken.exitCode());
        Lab.assertMatches("jnvdocker: all GPUs requested, but GPU 3 .* holder.*\n", taken.err());
        lab.daemon()
                .jnvdocker("gpu", "remake", "old", "--gpus=all", "--gpu-wait")
                .run(_ -> {
                    Lab.await(() ->
                            lab.registry().tickets() == 1 ? List.of() : List.of("nobody waits"));
                    docker("rm", "-f", "holder").ok();
                })
                .ok();
        lab.awaitHolders(Map.of(0, "old", 1, "old", 2, "old", 3, "old"));
        Command.Result none = lab.jnvdocker("gpu", "remake", "--", "-no-such");
        assertEquals(1, none.exitCode(), none::toString);
        assertTrue(none.err().contains("No such container: -no-such"), none::toString);
    }
}
