package jnvdocker.oci.spec;

import jnvdocker.host.DeviceMajors;

import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * The major numbers of the driver's devices.
 *
 * @param gpu that of the GPUs and of nvidiactl
 * @param others those of nvidia-uvm, nvidia-caps and the like
 */
public record Majors(int gpu, Set<Integer> others) {
    /** The majors of a host on which no driver is loaded. */
    public static final Majors NONE = new Majors(DeviceMajors.NVIDIA, Set.of());

    public Majors {
        others = Set.copyOf(others);
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
