package jnvdocker.container;

import jnvdocker.host.DeviceNode;
import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.labels.DriverVersion;
import jnvdocker.labels.ImageConfig;
import jnvdocker.request.GpuRequest;
import jnvdocker.volume.DriverVolume;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/** Decides what a container with GPUs gets. Which GPUs, was decided before. */
public final class ContainerPlanner {
    /** Where containers have the driver volume. */
    public static final String DRIVER_FOLDER = "/usr/local/nvidia";

    /** Docker's PATH for a container whose image has none (moby: DefaultPathEnv). */
    private static final String DEFAULT_PATH =
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

    private final DeviceNodes nodes;
    private final String volumeDriver;

    /**
     * @param volumeDriver the name of our volume plugin
     */
    public ContainerPlanner(DeviceNodes nodes, String volumeDriver) {
        this.nodes = nodes;
        this.volumeDriver = volumeDriver;
    }

    /**
     * The facts about a container before it is planned.
     *
     * @param driver the loaded driver, whose volume the container gets
     * @param plainRuntime whether the container's runtime is runc or crun, which add no GPUs of
     *     their own accord
     */
    public record Container(
            ImageConfig image,
            Allocation allocation,
            UserSettings settings,
            DriverVersion driver,
            boolean plainRuntime) {}

    /**
     * @throws RefusedException when the user mounts something where it would hide what we mount
     * @throws IOException when a device node is missing and cannot be made
     */
    public ContainerEdits plan(Container container) throws RefusedException, IOException {
        Allocation allocation = container.allocation();
        return new ContainerEdits(
                devices(allocation.gpus(), container.settings()),
                mounts(container),
                environment(container),
                allocation.labels());
    }

    private List<DeviceNode> devices(List<Gpu> gpus, UserSettings settings) throws IOException {
        List<DeviceNode> devices = new ArrayList<>(nodes.control());
        for (Gpu gpu : gpus) {
            DeviceNode whole = nodes.of(gpu);
            for (DeviceNode node : nodes.allOf(gpu)) {
                boolean given = node.equals(whole) && settings.gpuMinors().contains(gpu.minor());
                if (!given && !devices.contains(node)) {
                    devices.add(node);
                }
            }
        }
        return devices;
    }

    private List<VolumeMount> mounts(Container container) throws RefusedException {
        List<VolumeMount> mounts = new ArrayList<>();
        if (!container.settings().mountTargets().contains(DRIVER_FOLDER)) {
            String name = DriverVolume.name(container.driver());
            mounts.add(new VolumeMount(name, volumeDriver, DRIVER_FOLDER, Map.of()));
        }
        for (VolumeMount mount : container.allocation().mounts()) {
            refuseMountAt(mount.target(), container.settings());
            mounts.add(mount);
        }
        return mounts;
    }

    /** Refuses something of the user's at the target, which is to be the lease's. */
    public static void refuseMountAt(String target, UserSettings settings) throws RefusedException {
        if (settings.mountTargets().contains(target)) {
            throw new RefusedException(
                    "a volume is mounted at "
                            + target
                            + ", where a container with GPUs finds its lease",
                    "mount it elsewhere");
        }
    }

    private static Map<String, String> environment(Container container) {
        Map<String, String> added =
                searchPaths(container.image().environment(), container.settings().variables());
        if (!container.plainRuntime()) {
            // Else NVIDIA's runtime adds every GPU, because the image says
            // NVIDIA_VISIBLE_DEVICES=all.
            added.put(GpuRequest.VISIBLE_DEVICES, GpuRequest.VOID);
        }
        return added;
    }

    /**
     * The search paths that lack the driver's directories, with these at their end.
     *
     * @param environment the variables that the container has anyway
     * @param kept names of variables that stay as they are
     */
    public static Map<String, String> searchPaths(
            Map<String, String> environment, Set<String> kept) {
        Map<String, String> added = new LinkedHashMap<>();
        append(added, environment, kept, "PATH", DEFAULT_PATH, List.of("bin"));
        append(added, environment, kept, "LD_LIBRARY_PATH", "", List.of("lib", "lib64"));
        return added;
    }

    private static void append(
            Map<String, String> added,
            Map<String, String> environment,
            Set<String> kept,
            String variable,
            String standard,
            List<String> folders) {
        String before = environment.getOrDefault(variable, "");
        boolean named = Stream.of(before.split(":")).anyMatch(ContainerPlanner::isDriverFolder);
        if (named || kept.contains(variable)) {
            return;
        }
        StringBuilder path = new StringBuilder(before.isEmpty() ? standard : before);
        for (String folder : folders) {
            path.append(path.isEmpty() ? "" : ":").append(DRIVER_FOLDER).append('/').append(folder);
        }
        added.put(variable, path.toString());
    }

    private static boolean isDriverFolder(String folder) {
        return folder.startsWith(DRIVER_FOLDER + "/");
    }
}
