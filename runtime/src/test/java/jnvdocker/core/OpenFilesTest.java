package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.host.DeviceNodes;
import jnvdocker.host.DriverUse;
import jnvdocker.host.Host;
import jnvdocker.lease.TestingLeases;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.posix.Posix;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.Credentials;
import jnvdocker.process.DeviceUser;
import jnvdocker.process.OpenDevices;
import jnvdocker.use.GpuUse;
import jnvdocker.use.IgnoredUsers;
import jnvdocker.use.MemoryUsers;
import jnvdocker.use.Observer;
import jnvdocker.use.RunningContainer;
import jnvdocker.use.RunningContainers;
import jnvdocker.use.SeenUses;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/** The users of GPUs by the files that processes have open, on a host that is a directory. */
@Attack(
        by = "a member",
        what = "computes by a graphics node alone, in a container",
        result = "the GPU is UNMANAGED; before, FREE")
class OpenFilesTest {
    private static final Credentials SOMEBODY = new Credentials(1_987_654_330, Set.of(100));

    @TempDir Path root;
    private SimulatedMachine machine;
    private ProcessId process;
    private SeenUses uses;
    private boolean engineAnswers;
    private final List<Observer> observers = new ArrayList<>();
    private final Set<Integer> computing = new HashSet<>();

    @BeforeEach
    void open() throws IOException {
        write("proc/devices", "Character devices:\n195 nvidia\n");
        write("dev/nvidia3", "");
        machine = new SimulatedMachine(root, () -> {});
        process = machine.spawn();
        Host host = Host.at(root);
        uses =
                new SeenUses(
                        machine,
                        new Engine(),
                        new DeviceNodes(host),
                        new DriverUse(host),
                        () -> new IgnoredUsers(List.of()),
                        MemoryUsers.UNKNOWN,
                        new SeenUses.Observing(this::observers, _ -> computing));
    }

    private final class Engine implements RunningContainers {
        @Override
        public List<RunningContainer> running(Duration limit) throws IOException {
            if (!engineAnswers) {
                throw new IOException("it does not answer");
            }
            return List.of();
        }

        @Override
        public List<RunningContainer> lastKnown() {
            return List.of();
        }
    }

    private void write(String file, String text) throws IOException {
        Files.createDirectories(root.resolve(file).getParent());
        Files.writeString(root.resolve(file), text);
    }

    private List<Observer> observers() {
        return observers;
    }

    /** NVML has the node of each GPU open. */
    @Test
    void observerThatComputesIsAUser() {
        String id = "a".repeat(64);
        ProcessId inside =
                machine.spawn(Optional.empty(), Optional.of("/sys/fs/cgroup/docker/" + id));
        machine.open = opened(inside, Set.of(3), Set.of());
        assertEquals(List.of(GpuUse.Kind.OPEN), kinds());
        observers.add(new Observer(id, "dcgm", Optional.empty(), "root", Instant.EPOCH));
        assertEquals(List.of(), kinds());
        computing.add(process.pid());
        assertEquals(List.of(), kinds());
        computing.add(inside.pid());
        assertEquals(List.of(GpuUse.Kind.OPEN), kinds());
        machine.open = opened(process, Set.of(3), Set.of());
        computing.clear();
        assertEquals(List.of(GpuUse.Kind.OPEN), kinds());
    }

    private List<GpuUse> scan() {
        return uses.scan(List.of(TestingLeases.A), Duration.ofSeconds(1));
    }

    private List<GpuUse.Kind> kinds() {
        return scan().stream().map(GpuUse::kind).toList();
    }

    private void beyond(boolean pending) {
        machine.open =
                new OpenDevices(
                        List.of(), List.of(new OpenDevices.Partial(process, SOMEBODY, pending)));
    }

    @Test
    void processThatIsNotExaminedYetUsesTheGpusThatItMayOpen() throws IOException {
        beyond(true);
        Posix.chmod(root.resolve("dev/nvidia3"), 0666);
        assertEquals(List.of(GpuUse.Kind.UNKNOWN), kinds());
        assertEquals(1, uses.beyond().size());
        Posix.chmod(root.resolve("dev/nvidia3"), 0660);
        assertEquals(List.of(), kinds());
    }

    /** A container may have a graphics node whose mode says nothing of the GPU's own node. */
    @Test
    void processThatIsNotExaminedYetMayHaveAGraphicsNodeOpen() throws IOException {
        write(
                "sys/bus/pci/devices/" + TestingLeases.A.pciAddress() + "/drm/renderD129/dev",
                "226:129");
        write("dev/dri/renderD129", "");
        Posix.chmod(root.resolve("dev/nvidia3"), 0660);
        Posix.chmod(root.resolve("dev/dri/renderD129"), 0666);
        beyond(true);
        assertEquals(List.of(), kinds());
        process =
                machine.spawn(
                        Optional.empty(), Optional.of("/sys/fs/cgroup/docker/" + "a".repeat(64)));
        beyond(true);
        assertEquals(List.of(GpuUse.Kind.UNKNOWN), kinds());
        Posix.chmod(root.resolve("dev/dri/renderD129"), 0660);
        assertEquals(List.of(), kinds());
    }

    @Test
    void examinedProcessUsesTheGpusThatWereFound() throws IOException {
        beyond(false);
        Posix.chmod(root.resolve("dev/nvidia3"), 0666);
        assertEquals(List.of(), kinds());
        assertEquals(1, uses.beyond().size());
    }

    @Test
    void noProcessIsReadWhileTheDriverIsUnused() throws IOException {
        machine.open = opened(process, Set.of(3), Set.of());
        assertEquals(List.of(GpuUse.Kind.OPEN), kinds());
        Files.createDirectories(root.resolve("sys/module/nvidia/holders/nvidia_uvm"));
        write("sys/module/nvidia/refcnt", "2\n");
        assertEquals(List.of(GpuUse.Kind.OPEN), kinds());
        write("sys/module/nvidia/refcnt", "1\n");
        assertEquals(List.of(), kinds());
    }

    /** A desktop and its programs have graphics nodes open, and nothing else. */
    @Test
    void graphicsNodeCountsInContainersAlone() throws IOException {
        write(
                "sys/bus/pci/devices/" + TestingLeases.A.pciAddress() + "/drm/renderD129/dev",
                "226:129");
        ProcessId inside =
                machine.spawn(
                        Optional.empty(), Optional.of("/sys/fs/cgroup/docker/" + "a".repeat(64)));
        for (int node : List.of(128, 129)) {
            machine.open = opened(inside, Set.of(), Set.of(node));
            assertEquals(node == 129 ? List.of(GpuUse.Kind.OPEN_GRAPHICS) : List.of(), kinds());
        }
        assertEquals("in container aaaaaaaaaaaa", LeaseText.how(scan().getFirst()));
        machine.open = opened(inside, Set.of(3), Set.of(129));
        assertEquals(List.of(GpuUse.Kind.OPEN), kinds());
        machine.open = opened(process, Set.of(), Set.of(129));
        assertEquals(List.of(), kinds());
    }

    private static OpenDevices opened(
            ProcessId process, Set<Integer> minors, Set<Integer> graphics) {
        DeviceUser user = new DeviceUser(process, new TreeSet<>(minors), new TreeSet<>(graphics));
        return new OpenDevices(List.of(user), List.of());
    }

    @Test
    void containersAreNotKnownBeforeTheEngineHasAnswered() {
        kinds();
        assertFalse(uses.knowsContainers());
        engineAnswers = true;
        kinds();
        engineAnswers = false;
        kinds();
        assertTrue(uses.knowsContainers());
    }
}
