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
 * @param others the majors of nvidia-uvm, nvidia-caps and the like
 * @param graphics the minors of the GPUs by the minors of their graphics nodes
 * @param cards the minors of the graphics nodes of all cards, whoever has made them
 */
public record Majors(
        int gpu, Set<Integer> others, Map<Integer, Integer> graphics, Set<Integer> cards) {
    /** The majors of a host on which no driver is loaded. */
    public static final Majors NONE = new Majors(DeviceMajors.NVIDIA, Set.of());

    public Majors {
        others = Set.copyOf(others);
        graphics = Map.copyOf(graphics);
        cards = Set.copyOf(cards);
    }

    /** The majors of a host whose GPUs have no graphics nodes, as without nvidia-drm. */
    public Majors(int gpu, Set<Integer> others) {
        this(gpu, others, Map.of(), Set.of());
    }

    /** Whether a device is one of the driver's. */
    boolean has(int major) {
        return major == gpu || others.contains(major);
    }

    /** In their order. */
    SortedSet<Integer> all() {
        SortedSet<Integer> all = new TreeSet<>(others);
        all.add(gpu);
        return all;
    }
}
