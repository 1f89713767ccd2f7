package jnvdocker.container;

import jnvdocker.host.DeviceNode;
import jnvdocker.host.DeviceNodes;
import jnvdocker.host.DrmNodes;
import jnvdocker.host.FabricNodes;
import jnvdocker.host.Gpu;
import jnvdocker.labels.DriverVersion;
import jnvdocker.labels.ImageConfig;
import jnvdocker.request.GpuRequest;
import jnvdocker.volume.DriverVolume;
import jnvdocker.volume.GraphicsFile;
import jnvdocker.volume.files.Directory;
import jnvdocker.volume.files.GraphicsFiles;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Decides what a container with GPUs gets. Which GPUs, was decided before. */
public final class ContainerPlanner {
    /** The path of the driver volume in containers. */
    public static final String DRIVER_DIRECTORY = "/usr/local/nvidia";

    /** The sockets of the driver's services. */
    private static final List<String> SERVICES =
            List.of("/run/nvidia-persistenced/socket", "/run/nvidia-fabricmanager/socket");

    /** What GPUDirect Storage reads besides its nodes. */
    private static final List<String> STORAGE = List.of("/run/udev", "/etc/cufile.json");

    /** The default directory of an MPS control daemon's sockets. */
    private static final String MPS = "/tmp/nvidia-mps";

    private static final String LIBRARY_PATH = "LD_LIBRARY_PATH";

    /** Docker's PATH for a container if its image has none (moby: DefaultPathEnv). */
    private static final String DEFAULT_PATH =
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

    private static final SearchPath PROGRAMS = new SearchPath(DEFAULT_PATH, List.of("bin"), false);

    private static final SearchPath LIBRARIES = new SearchPath("", List.of("lib", "lib64"), false);

    /**
     * The variables by which the loaders of Vulkan and EGL find their files, as their documentation
     * has them. Of several EGLs the first that has a display is taken, which must be the driver's.
     */
    private static final SortedMap<String, SearchPath> GRAPHICS_PATHS =
            new TreeMap<>(
                    Map.of(
                            "XDG_DATA_DIRS",
                            new SearchPath("/usr/local/share:/usr/share", List.of("share"), false),
                            "__EGL_VENDOR_LIBRARY_DIRS",
                            new SearchPath(
                                    "/etc/glvnd/egl_vendor.d:/usr/share/glvnd/egl_vendor.d",
                                    List.of("share/glvnd/egl_vendor.d"),
                                    true),
                            "__EGL_EXTERNAL_PLATFORM_CONFIG_DIRS",
                            new SearchPath(
                                    "/etc/egl/egl_external_platform.d:/usr/share/egl/egl_external_platform.d",
                                    List.of("share/egl/egl_external_platform.d"),
                                    true)));

    private static final Pattern GL = Pattern.compile("lib(GL|EGL|GLESv1_CM|GLESv2)\\.so.*");

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
     * @param image with the variables that the container will have, the user's included
     * @param driver the loaded driver; the container gets its volume
     */
    public record Container(
            ImageConfig image,
            Allocation allocation,
            UserSettings settings,
            DriverVersion driver,
            Visible visible) {}

    /** The value of {@code NVIDIA_VISIBLE_DEVICES} in a container. */
    public enum Visible {
        /** The UUIDs of its GPUs, by which programs learn of them: the engine does not see it. */
        UUIDS,

        /**
         * That of its image or its user: the engine keeps the container's variables, and its {@code
         * commit} makes them an image's, which must not name the GPUs of a host.
         */
        UNCHANGED,

        /**
         * Nothing. NVIDIA's runtime, which may be the container's, acts on any other value, and
         * adds every GPU where the image says all.
         */
        VOID
    }

    /**
     * Plans a container whose root cannot be edited: its programs find the driver, and what
     * graphics need of it, by variables.
     *
     * @throws RefusedException when the user mounts something where it would hide what we mount
     * @throws IOException when a device node is missing and cannot be made
     */
    public ContainerEdits plan(Container container) throws RefusedException, IOException {
        Map<String, String> added = environment(container);
        if (wantsGraphics(container)) {
            Set<String> kept = container.settings().variables();
            Map<String, String> variables = container.image().environment();
            GRAPHICS_PATHS.forEach((name, path) -> path.put(added, variables, kept, name));
        }
        ContainerEdits edits = edits(container, List.of(), DriverSearch.NONE, added);
        // Docker and Mesos copy the host's nodes, and udev may not have made those of graphics.
        return new ContainerEdits(
                edits.devices().stream().filter(node -> Files.exists(node.hostPath())).toList(),
                edits.mounts(),
                edits.environment(),
                edits.labels());
    }

    /**
     * Plans a container with a root that can be edited: its programs find the driver, and what
     * graphics need of it, without variables.
     *
     * @param compat libraries of its image that come before the driver's
     */
    public ContainerEdits plan(Container container, DriverVolume volume, CompatLibraries compat)
            throws RefusedException, IOException {
        Map<String, String> variables = container.image().environment();
        boolean graphics = wantsGraphics(container);
        boolean compute = DriverCapabilities.wantsCompute(variables);
        List<GraphicsFile> files = new ArrayList<>(present(SERVICES));
        if (compute) {
            mps().ifPresent(files::add);
        }
        if (FabricNodes.wantsStorage(variables)) {
            files.addAll(present(STORAGE));
        }
        for (GraphicsFile file : volume.graphics()) {
            if (GraphicsFiles.isForCompute(file.inVolume().toString()) ? compute : graphics) {
                files.add(file);
            }
        }
        Set<String> taken = container.settings().mountTargets();
        files.removeIf(file -> taken.contains(file.target()));
        String profile = graphics ? eglProfile(container.allocation().gpus()) : "";
        return edits(
                container,
                files,
                new DriverSearch(compat, names(volume, variables), profile),
                searchedFirst(compat, environment(container), container));
    }

    private ContainerEdits edits(
            Container container,
            List<GraphicsFile> files,
            DriverSearch search,
            Map<String, String> environment)
            throws RefusedException, IOException {
        Allocation allocation = container.allocation();
        List<DeviceNode> devices = devices(allocation, container.settings());
        if (wantsGraphics(container)) {
            nodes.modeset().ifPresent(devices::add);
            devices.addAll(DrmNodes.of(nodes.host(), allocation.gpus()));
        }
        if (!allocation.observes()) {
            devices.addAll(FabricNodes.requested(nodes.host(), container.image().environment()));
        }
        return new ContainerEdits(
                devices, mounts(container), files, search, environment, allocation.labels());
    }

    private static boolean wantsGraphics(Container container) {
        return DriverCapabilities.wantsGraphics(container.image().environment());
    }

    /** Those of these files that there are on the host. */
    private List<GraphicsFile> present(List<String> names) throws IOException {
        List<GraphicsFile> files = new ArrayList<>();
        for (String name : names) {
            Path file = nodes.host().resolve(name);
            if (Files.exists(file)) {
                files.add(new GraphicsFile(file.toAbsolutePath(), name));
            }
        }
        return files;
    }

    /** The directory of root's MPS control daemon: any user may make one of that name. */
    private Optional<GraphicsFile> mps() throws IOException {
        Path directory = nodes.host().resolveParent(MPS);
        try {
            Map<String, Object> found =
                    Files.readAttributes(
                            directory, "unix:isDirectory,uid", LinkOption.NOFOLLOW_LINKS);
            boolean roots = found.get("isDirectory").equals(true) && found.get("uid").equals(0);
            return roots
                    ? Optional.of(new GraphicsFile(directory.toAbsolutePath(), MPS))
                    : Optional.empty();
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    /** A mask of the GPUs' minors: one that has no bit in it would be another GPU's. */
    static String eglProfile(List<Gpu> gpus) {
        long mask =
                gpus.stream()
                        .filter(gpu -> gpu.minor() < Long.SIZE)
                        .mapToLong(gpu -> 1L << gpu.minor())
                        .reduce(0, (a, b) -> a | b);
        return """
        {"profiles": [{"name": "_container_", "settings": ["EGLVisibleDGPUDevices", 0x%x]}],
         "rules": [{"pattern": [], "profile": "_container_"}]}
        """
                .formatted(mask);
    }

    private static Map<String, String> searchedFirst(
            CompatLibraries compat, Map<String, String> environment, Container container) {
        if (!compat.isUsed() || container.settings().variables().contains(LIBRARY_PATH)) {
            return environment;
        }
        Map<String, String> all = new LinkedHashMap<>(environment);
        String rest =
                all.getOrDefault(
                        LIBRARY_PATH,
                        container.image().environment().getOrDefault(LIBRARY_PATH, ""));
        if (!rest.startsWith(compat.directory())) {
            all.put(LIBRARY_PATH, compat.directory() + ":" + rest);
        }
        return all;
    }

    /**
     * The names of the driver's programs and of all its libraries: the loader finds them whatever
     * the capabilities, as with CDI of NVIDIA's toolkit. Another vendor's GL has the same names as
     * a driver's own had before GLVND, so these stay the image's.
     *
     * @param variables of the container
     */
    public static List<SearchedName> names(DriverVolume volume, Map<String, String> variables) {
        List<SearchedName> names = new ArrayList<>();
        for (Directory directory : Directory.values()) {
            for (String name : volume.names(directory)) {
                if (!GL.matcher(name).matches()) {
                    boolean inDirectories =
                            switch (directory) {
                                case BIN -> true;
                                case LIB -> false;
                                case LIB64 ->
                                        !name.endsWith(".so." + volume.version())
                                                && DriverCapabilities.wants(variables, name);
                            };
                    names.add(new SearchedName(directory, name, inDirectories));
                }
            }
        }
        return names;
    }

    private List<DeviceNode> devices(Allocation allocation, UserSettings settings)
            throws IOException {
        List<DeviceNode> devices = new ArrayList<>(nodes.control());
        if (allocation.observes()) {
            // As NVIDIA's tools do it: of these nodes, NVML needs the one of the GPUs' own driver.
            int gpus = nodes.gpuMajor();
            devices.removeIf(node -> node.major() != gpus);
        }
        for (Gpu gpu : allocation.gpus()) {
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
        if (!container.settings().mountTargets().contains(DRIVER_DIRECTORY)) {
            String name = DriverVolume.name(container.driver());
            mounts.add(new VolumeMount(name, volumeDriver, DRIVER_DIRECTORY));
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
        switch (container.visible()) {
            case UUIDS ->
                    added.put(GpuRequest.VISIBLE_DEVICES, uuids(container.allocation().gpus()));
            case VOID -> added.put(GpuRequest.VISIBLE_DEVICES, GpuRequest.VOID);
            case UNCHANGED -> {}
        }
        return added;
    }

    private static String uuids(List<Gpu> gpus) {
        return gpus.isEmpty()
                ? GpuRequest.VOID
                : gpus.stream()
                        .map(gpu -> gpu.hasUuid() ? gpu.uuid() : String.valueOf(gpu.index()))
                        .collect(Collectors.joining(","));
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
        PROGRAMS.put(added, environment, kept, "PATH");
        LIBRARIES.put(added, environment, kept, LIBRARY_PATH);
        return added;
    }

    /**
     * Directories that a variable names.
     *
     * @param standard those that programs search without the variable
     * @param directories those of the driver, beneath its directory
     * @param first whether the driver's come first
     */
    private record SearchPath(String standard, List<String> directories, boolean first) {
        /** Adds the variable, unless its value names the driver or is to be kept. */
        void put(
                Map<String, String> added,
                Map<String, String> environment,
                Set<String> kept,
                String variable) {
            String before = environment.getOrDefault(variable, "");
            boolean named = Stream.of(before.split(":")).anyMatch(SearchPath::isDrivers);
            if (named || kept.contains(variable)) {
                return;
            }
            String others = before.isEmpty() ? standard : before;
            String drivers =
                    directories.stream()
                            .map(directory -> DRIVER_DIRECTORY + "/" + directory)
                            .collect(Collectors.joining(":"));
            added.put(
                    variable,
                    Stream.of(first ? drivers : others, first ? others : drivers)
                            .filter(path -> !path.isEmpty())
                            .collect(Collectors.joining(":")));
        }

        private static boolean isDrivers(String directory) {
            return directory.startsWith(DRIVER_DIRECTORY + "/");
        }
    }
}
