package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Frames;
import jnvdocker.tests.world.HostileDaemon;
import jnvdocker.tests.world.HostileDaemon.Script;
import jnvdocker.tests.world.MesosAgent;
import jnvdocker.tests.world.MesosContainer;
import jnvdocker.tests.world.MesosTask;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** The test agent behaves like a real one, with a hook that changes nothing. */
@Tag("root")
class MesosAgentTest {
    private static final Script UNCHANGED = Script.saying(new Frames().exit(0).toBytes());

    private final Path directory = Directories.make("daemon");
    private final Path socket = directory.resolve("socket");
    private MesosAgent agent;

    @BeforeEach
    void startAgent() {
        agent = new MesosAgent(socket);
    }

    @AfterEach
    void stopAgent() {
        agent.close();
        Directories.remove(directory);
    }

    @Test
    void taskRunsInItsImage() {
        try (HostileDaemon _ = new HostileDaemon(socket, UNCHANGED)) {
            MesosTask task =
                    MesosTask.of("ls /dev; echo $A; test -e /proc/self && ls /; exit 3")
                            .gpus(1)
                            .needsDriver()
                            .imageVariable("A=image")
                            .variable("A", "user's");
            Command.Result result = agent.run(task);
            assertEquals(3, result.exitCode(), result::toString);
            List<String> lines = result.out().lines().toList();
            assertTrue(lines.contains("user's"), result::toString);
            assertTrue(lines.contains("mnt"), result::toString);
            assertFalse(lines.contains("nvidiactl"), result::toString);
        }
    }

    /**
     * Carries out a typical answer of a daemon in the container; the second request is about the
     * task.
     */
    @Test
    void planIsDoneInTheContainerAlone() throws IOException {
        Path driver = Files.createDirectories(directory.resolve("volumes/nvidia_driver/1.0"));
        Files.writeString(driver.resolve("libcuda.so.1"), "driver\n");
        String script =
                """
                ls /dev | grep nvidia
                tryopen /dev/nvidia0
                mknod /tmp/nvidia1 c 195 1; tryopen /tmp/nvidia1
                cat /usr/local/nvidia/libcuda.so.1
                touch /usr/local/nvidia/x 2>&1
                echo "$LD_LIBRARY_PATH"
                """;
        MesosTask task =
                MesosTask.of(script).gpus(1).needsDriver().variable("LD_LIBRARY_PATH", "/opt/lib");
        try (HostileDaemon _ = new HostileDaemon(socket, client -> edit(client, driver))) {
            Command.Result result = agent.run(task);
            assertEquals(
                    List.of(
                            "nvidia0",
                            "ENXIO",
                            "EPERM",
                            "driver",
                            "touch: /usr/local/nvidia/x: Read-only file system",
                            "/opt/lib:/usr/local/nvidia/lib64"),
                    result.out().lines().toList(),
                    result::toString);
        }
        assertEquals("driver\n", Files.readString(driver.resolve("libcuda.so.1")));
        String mounts = Files.readString(Path.of("/proc/self/mountinfo"));
        assertFalse(mounts.contains(agent.cgroupsRoot()), mounts);
    }

    @Test
    void taskWithoutGpusNeedsNoDaemon() {
        Command.Result result = agent.run(MesosTask.of("echo done"));
        assertEquals("done\n", result.out(), result::toString);
        assertEquals("", result.err());
    }

    @Test
    void taskWithoutImageHasTheHostsFiles() {
        Command.Result result = agent.run(MesosTask.of("ls " + directory.getParent()).noImage());
        assertTrue(result.out().contains(directory.getFileName().toString()), result::toString);
    }

    @Test
    void failingCommandBeforeTheContainersOwnRefusesIt() {
        Command.Result result = agent.run(MesosTask.of("echo started").gpus(1).needsDriver());
        assertEquals("", result.out());
        assertEquals(1, result.exitCode(), result::toString);
        assertTrue(
                result.err().contains("\njnvdocker: no jnvdockerd answers at " + socket),
                result::toString);
        assertTrue(result.err().contains("Failed to execute pre-exec command"), result::toString);
    }

    /** The devices cgroup has the rules of a real one, and is removed with the container. */
    @Test
    void containerHasCgroupsOfItsOwn() throws IOException {
        MesosContainer container =
                agent.launch(MesosTask.of("echo up; sleep 1000").direct()).awaitLine("up");
        Path devices = container.cgroup("devices");
        assertTrue(Files.readString(devices.resolve("devices.list")).contains("c 1:3 rwm\n"));
        assertFalse(Files.readString(devices.resolve("devices.list")).contains("a *:*"));
        String pid = Files.readString(container.runtime().resolve("pid"));
        assertTrue(Files.readAllLines(devices.resolve("cgroup.procs")).contains(pid));
        Path freezer = container.cgroup("freezer");
        assertTrue(Files.readAllLines(freezer.resolve("cgroup.procs")).contains(pid));
        container.kill();
        assertFalse(Files.exists(devices));
        assertFalse(Files.exists(freezer));
        assertFalse(Files.exists(container.runtime()));
    }

    @Test
    void nestedContainersShareTheirParentsDevicesOrHaveTheirOwn() throws IOException {
        MesosContainer parent =
                agent.launch(MesosTask.of("echo up; sleep 1000").direct().noImage())
                        .awaitLine("up");
        MesosContainer sharing =
                parent.nested(MesosTask.of("cat /proc/self/cgroup; echo up; sleep 1000"))
                        .awaitLine("up");
        MesosContainer own = parent.nested(MesosTask.of("cat /proc/self/cgroup").ownCgroups());
        String ofParent = ":devices:/" + agent.cgroupsRoot() + "/" + parent.id();
        assertTrue(sharing.out().contains(ofParent + "\n"), sharing::out);
        Command.Result ended = own.await();
        assertTrue(ended.out().contains(ofParent + "/mesos/" + own.id() + "\n"), ended::toString);
        assertEquals("0\n", Files.readString(own.runtime().resolve("termination")));
        assertFalse(Files.exists(own.cgroup("freezer")));
        parent.kill();
        sharing.await();
        assertFalse(Files.exists(parent.runtime()));
        assertFalse(Files.exists(parent.cgroup("freezer")));
    }

    @Test
    void containerOutlivesTheAgentWhichRecoversIt() throws Exception {
        MesosContainer ended = agent.launch(MesosTask.of("sleep 5").direct());
        MesosContainer runs =
                agent.launch(MesosTask.of("echo up; sleep 1000").direct()).awaitLine("up");
        agent.kill();
        assertTrue(Files.exists(ended.runtime()));
        agent.recover();
        ended.await();
        assertFalse(Files.exists(ended.runtime()));
        assertTrue(Files.exists(runs.cgroup("devices")));
        runs.kill();
        assertFalse(Files.exists(runs.cgroup("devices")));
    }

    @Test
    void manyRunAtATime() {
        List<MesosContainer> all =
                IntStream.range(0, 20)
                        .mapToObj(number -> agent.launch(MesosTask.of("echo " + number)))
                        .toList();
        for (int number = 0; number < all.size(); number++) {
            Command.Result result = all.get(number).await();
            assertEquals(number + "\n", result.out(), result::toString);
        }
    }

    /** Answers as the daemon would, with one GPU. */
    private byte[] edit(SocketChannel client, Path driver) throws IOException {
        DataInputStream in = new DataInputStream(Channels.newInputStream(client));
        in.skipNBytes(5);
        in.skipNBytes(3 * Integer.BYTES);
        string(in); // the directory
        strings(in); // docker
        List<String> words = strings(in);
        List<String> variables = strings(in);
        ObjectNode info = (ObjectNode) new ObjectMapper().readTree(words.getLast());
        if (words.get(1).equals("launch")) {
            Path runtime = Path.of(words.get(2));
            info.putArray("pre_exec_commands").add(apply(runtime, driver, variables.getFirst()));
        } else {
            ObjectNode more = ((ArrayNode) info.at("/environment/variables")).addObject();
            more.put("name", "LD_LIBRARY_PATH").put("value", "/opt/lib:/usr/local/nvidia/lib64");
        }
        client.write(ByteBuffer.wrap(new Frames().out(info.toString()).exit(0).toBytes()));
        return new byte[0];
    }

    private ObjectNode apply(Path runtime, Path driver, String prestart) {
        String id = runtime.getFileName().toString();
        ObjectNode command = new ObjectMapper().createObjectNode();
        command.put("shell", false).put("value", prestart.replace("JNVDOCKER_PRESTART=", ""));
        ArrayNode words = command.putArray("arguments").add("jnvdocker-prestart").add("apply");
        words.add("rootfs").add(agent.directory().resolve("rootfs").resolve(id).toString());
        words.add("mount").add(driver.toString()).add("/usr/local/nvidia");
        words.add("cgroup").add("/sys/fs/cgroup/devices/" + agent.cgroupsRoot() + "/" + id);
        words.add("device").add("/dev/nvidia0").add("195").add("0");
        return command;
    }

    private static List<String> strings(DataInputStream in) throws IOException {
        List<String> all = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            all.add(string(in));
        }
        return all;
    }

    private static String string(DataInputStream in) throws IOException {
        return new String(in.readNBytes(in.readInt()), StandardCharsets.UTF_8);
    }
}
