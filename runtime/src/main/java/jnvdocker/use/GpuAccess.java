package jnvdocker.use;

import java.util.List;

/**
 * By what a container may use GPUs, in the words of its engine.
 *
 * @param privileged whether it may open every device
 * @param devices paths on the host that {@code --device} names: nodes, links to them, directories
 * @param binds paths on the host that it mounts
 * @param rules of the device cgroup, {@code c 195:* rmw}
 * @param given GPUs that the engine or NVIDIA's runtime gives it
 */
public record GpuAccess(
        boolean privileged,
        List<String> devices,
        List<String> binds,
        List<String> rules,
        List<Given> given) {
    /** No access. */
    public static final GpuAccess NONE =
            new GpuAccess(false, List.of(), List.of(), List.of(), List.of());

    public GpuAccess {
        devices = List.copyOf(devices);
        binds = List.copyOf(binds);
        rules = List.copyOf(rules);
        given = List.copyOf(given);
    }

    /**
     * GPUs that are given by name.
     *
     * @param ids indices, UUIDs or {@code all}
     */
    public record Given(GpuUse.Kind kind, List<String> ids) {
        public Given {
            ids = List.copyOf(ids);
        }
    }
}
