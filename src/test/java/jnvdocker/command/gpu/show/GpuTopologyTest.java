package jnvdocker.command.gpu.show;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.command.gpu.show.GpuTopology.Connections;
import jnvdocker.command.gpu.show.GpuTopology.Member;
import jnvdocker.command.gpu.view.Samples;
import jnvdocker.host.PciPlace;
import jnvdocker.lease.GpuStatus;
import jnvdocker.nvml.GpuPair;
import jnvdocker.nvml.Topology;
import jnvdocker.nvml.Topology.Ancestor;
import jnvdocker.screen.Screen;

import org.junit.jupiter.api.Test;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/** The matrix has nvidia-smi's words, and the holders. */
class GpuTopologyTest {
    private static final List<Member> MEMBERS =
            List.of(
                    member(
                            Samples.taken(
                                    0, GpuStatus.State.HELD, Samples.held(1, "train-7", 0), ""),
                            0,
                            "0-23,48-71"),
                    member(Samples.free(1, Optional.empty()), 0, "0-23,48-71"),
                    member(Samples.free(2, Optional.empty()), 1, "24-47"),
                    new Member(
                            Samples.free(3, Optional.empty()),
                            new PciPlace(OptionalInt.empty(), Optional.empty())));

    private static Member member(GpuStatus status, int node, String cpus) {
        return new Member(status, new PciPlace(OptionalInt.of(node), Optional.of(cpus)));
    }

    private static GpuPair pair(int one, int other) {
        return new GpuPair(MEMBERS.get(one).address(), MEMBERS.get(other).address());
    }

    private static Map<GpuPair, Topology> known() {
        Map<GpuPair, Topology> known = new HashMap<>();
        known.put(pair(0, 1), new Topology(Ancestor.ONE_SWITCH, 12));
        known.put(pair(0, 2), new Topology(Ancestor.SYSTEM, 0));
        known.put(pair(1, 2), new Topology(Ancestor.SYSTEM, 0));
        known.put(pair(0, 3), new Topology(Ancestor.HOST_BRIDGE, 0));
        known.put(pair(1, 3), new Topology(Ancestor.ONE_SWITCH, 0));
        return known;
    }

    @Test
    void matrixHasTheHoldersAndALegendOfItsWords() {
        assertEquals(
                List.of(
                        "GPU   0      1      2     3     CPUS         NUMA   STATE   USER   "
                                + " CONTAINER",
                        "0     X      NV12   SYS   PHB   0-23,48-71   0      HELD    alice  "
                                + " train-7",
                        "1     NV12   X      SYS   PIX   0-23,48-71   0      FREE    -       -",
                        "2     SYS    SYS    X     ?     24-47        1      FREE    -       -",
                        "3     PHB    PIX    ?     X     -            -      FREE    -       -",
                        "",
                        "X      the GPU itself",
                        "NV#    through # NVLinks",
                        "PIX    through one PCIe switch",
                        "PHB    through a PCIe host bridge",
                        "SYS    from one NUMA node to another",
                        "?      not known"),
                new Connections(MEMBERS, known()).lines(Screen.NONE));
    }

    @Test
    void withoutNvmlTheRestIsShown() {
        List<String> lines = new Connections(MEMBERS, Map.of()).lines(Screen.NONE);
        assertEquals("GPU   CPUS         NUMA   STATE   USER    CONTAINER", lines.getFirst());
        assertEquals("2     24-47        1      FREE    -       -", lines.get(3));
        assertEquals("NVML does not report how the GPUs are connected", lines.getLast());
    }

    @Test
    void sharersAreCounted() {
        GpuStatus first = Samples.taken(0, GpuStatus.State.HELD, Samples.held(1, "train-7", 0), "");
        GpuStatus other = Samples.taken(0, GpuStatus.State.HELD, Samples.held(2, "eval", 0), "");
        List<Member> shared = List.of(member(first.beside(List.of(other)), 0, "0-23"));
        String line = new Connections(shared, Map.of()).lines(Screen.NONE).get(1);
        assertTrue(line.endsWith("   train-7 and 1 other"), line);
    }

    @Test
    void oneGpuIsConnectedToNone() {
        List<String> lines = new Connections(MEMBERS.subList(0, 1), Map.of()).lines(Screen.NONE);
        assertTrue(lines.get(1).startsWith("0     X   0-23"), lines::toString);
        assertEquals("X      the GPU itself", lines.getLast());
    }
}
