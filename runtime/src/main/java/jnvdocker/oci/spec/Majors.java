package jnvdocker.oci.spec;

import jnvdocker.host.DeviceMajors;

import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * The numbers of the driver's devices.
 *
 * @param gpu the major of the GPUs and of nvidiactl
 * @param others the majors of nvidia-uvm, nvidia-caps and the like, by which GPUs are used
 * @param apart the majors of NVIDIA's devices that give no GPU, as nvidia-fs and nvidia-nvswitch: a
 *     container has those that its user names, and no more
 * @param graphics the minors of the GPUs by the minors of their graphics nodes
 * @param cards the minors of the graphics nodes of all cards, whoever has made them
 */
public record Majors(
        int gpu,
        Set<Integer> others,
        Set<Integer> apart,
        Map<Integer, Integer> graphics,
        Set<Integer> cards) {
    /** The majors of a host on which no driver is loaded. */
    public static final Majors NONE = new Majors(DeviceMajors.NVIDIA, Set.of());

    public Majors {
        others = Set.copyOf(others);
        apart = Set.copyOf(apart);
        graphics = Map.copyOf(graphics);
        cards = Set.copyOf(cards);
    }

    /** The majors of a host whose GPUs have no graphics nodes, as without nvidia-drm. */
    public Majors(int gpu, Set<Integer> others) {
        this(gpu, others, Set.of(), Map.of(), Set.of());
    }

    /** Whether a device is one by which GPUs are used. */
    boolean has(int major) {
        return major == gpu || others.contains(major);
    }

    /** Those of all of NVIDIA's devices, in their order. */
    SortedSet<Integer> all() {
        SortedSet<Integer> all = new TreeSet<>(others);
        all.addAll(apart);
        all.add(gpu);
        return all;
    }
}
