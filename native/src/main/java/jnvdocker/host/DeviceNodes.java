package jnvdocker.host;

import jnvdocker.posix.FileStatus;
import jnvdocker.posix.Posix;
import jnvdocker.words.FailedException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The driver's device nodes under {@code /dev}. A missing node is made, as nvidia-modprobe would
 * make it: with its major from {@code /proc/devices}, owner and mode from {@code
 * /proc/driver/nvidia/params}. Each node is also linked by its number, for runc.
 */
public final class DeviceNodes {
    private static final String DRIVER = "nvidia";
    private static final String UVM = "nvidia-uvm";
    private static final Pattern NAME = Pattern.compile("(?:.*/)?nvidia([0-9]{1,3})");
    private static final String MODESET = "nvidia-modeset";
    static final String CAPS = "nvidia-caps";
    private static final int CTL_MINOR = 255;
    private static final int FIRST_OF_OTHERS = 254; // That of nvidia-modeset.

    private final Host host;
    private final KernelModules modules;
    private final MissingNodes missingNodes;
    private final NodeLinks links;

    public DeviceNodes(Host host) {
        this(host, KernelModules.of(host));
    }

    DeviceNodes(Host host, KernelModules modules) {
        this.host = host;
        this.modules = modules;
        this.missingNodes = new MissingNodes(host);
        this.links = new NodeLinks(host);
    }

    public Host host() {
        return host;
    }

    /**
     * Loads the driver's kernel module if it is not loaded yet, as on a host without X.
     *
     * @throws NoDriverException when it is not loaded and cannot be
     */
    public void loadDriver() throws IOException {
        if (HostDriver.isLoaded(host)) {
            return;
        }
        try {
            modules.load(DRIVER);
        } catch (IOException e) {
            throw new NoDriverException(
                    "no NVIDIA driver is loaded, and none can be (" + e.getMessage() + ")",
                    "install the driver for this kernel",
                    e);
        }
    }

    /**
     * Returns all nodes that containers may be given: {@link #control} and every GPU's, in order of
     * index, each GPU with its UUID known. A GPU that the driver cannot talk to has none.
     *
     * @throws IOException when a node is missing and cannot be made, or is another device
     */
    public List<DeviceNode> all() throws IOException {
        List<DeviceNode> nodes = new ArrayList<>(control());
        for (Gpu gpu : new GpuInventory(host, this).read().gpus()) {
            if (gpu.isIdentified()) {
                nodes.addAll(allOf(gpu));
            }
        }
        return nodes.stream().distinct().toList();
    }

    /**
     * A node that differs from the driver's.
     *
     * @param missing true if nothing has its name; false if something other than the device does
     * @param made true if {@link #all} makes it; false if the driver's parameters or this daemon's
     *     rights do not allow that
     */
    public record Fault(Path path, boolean missing, boolean made, int major, int minor) {}

    /**
     * Finds faults in the nodes that containers with these GPUs need. Makes no node and loads
     * nothing: a module that is not loaded has no nodes that could be wrong.
     *
     * @throws NoDriverException when no driver is loaded
     */
    public List<Fault> faults(List<Gpu> gpus) throws IOException {
        List<Fault> faults = new ArrayList<>();
        int major = gpuMajor();
        check("nvidiactl", major, CTL_MINOR, faults);
        Integer uvm = majors().get(UVM);
        if (uvm != null) {
            check("nvidia-uvm", uvm, 0, faults);
            check("nvidia-uvm-tools", uvm, 1, faults);
        }
        Set<Integer> checked = new HashSet<>();
        for (Gpu gpu : gpus) {
            if (gpu.isIdentified() && checked.add(gpu.minor())) {
                check("nvidia" + gpu.minor(), major, gpu.minor(), faults);
            }
        }
        return faults;
    }

    /** Whether the kernel module that CUDA requires is loaded. */
    public boolean hasUvm() throws IOException {
        return majors().containsKey(UVM);
    }

    private void check(String name, int major, int minor, List<Fault> faults) throws IOException {
        Path path = host.resolve("/dev/" + name);
        boolean missing = !Files.exists(path);
        if (missing || deviceOf(path) != Posix.device(major, minor)) {
            boolean made = missingNodes.mayMake();
            faults.add(new Fault(path, missing, made, major, minor));
        }
    }

    /**
     * Returns the nodes of every container with a GPU: nvidiactl, nvidia-uvm, nvidia-uvm-tools.
     *
     * @throws IOException when a node is missing and cannot be made, or is another device
     */
    public List<DeviceNode> control() throws IOException {
        int uvm = uvmMajor();
        return List.of(
                node("nvidiactl", gpuMajor(), CTL_MINOR),
                node("nvidia-uvm", uvm, 0),
                node("nvidia-uvm-tools", uvm, 1));
    }

    /**
     * Returns the node that programs need to draw on a screen or by Vulkan; empty where the module
     * nvidia-modeset is not loaded, as on most hosts without screens. Drivers that list
     * nvidia-frontend list no device of that module.
     *
     * @throws IOException when it is missing and cannot be made, or is not the device it should be
     */
    public Optional<DeviceNode> modeset() throws IOException {
        Integer major = majors().get(MODESET);
        if (major != null) {
            return Optional.of(node(MODESET, major, FIRST_OF_OTHERS));
        }
        return Files.isDirectory(host.resolve("/sys/module/nvidia_modeset"))
                ? Optional.of(node(MODESET, gpuMajor(), FIRST_OF_OTHERS))
                : Optional.empty();
    }

    /**
     * Returns the node of one GPU, {@code /dev/nvidia<minor>}.
     *
     * @throws IOException when it is missing and cannot be made, or is not the device it should be
     */
    public DeviceNode of(Gpu gpu) throws IOException {
        return node("nvidia" + gpu.minor(), gpuMajor(), gpu.minor());
    }

    /**
     * Returns all nodes that a program needs for one GPU: its own, and of a MIG instance those of
     * its two capabilities.
     *
     * @throws IOException when one is missing and cannot be made, or is not the device it should be
     */
    public List<DeviceNode> allOf(Gpu gpu) throws IOException {
        DeviceNode whole = of(gpu);
        if (gpu.part().isEmpty()) {
            return List.of(whole);
        }
        Part part = gpu.part().get();
        return List.of(whole, capability(part.gpuAccess()), capability(part.computeAccess()));
    }

    private DeviceNode capability(int minor) throws IOException {
        OptionalInt major = capsMajor();
        if (major.isEmpty()) {
            throw new NoDriverException(
                    host.resolve("/proc/devices") + " lists no device '" + CAPS + "'",
                    "load the driver with the parameter nv_cap_enable_devfs=1");
        }
        String name = nameOfCapability(minor);
        Path path = host.resolve("/dev/" + name);
        if (!Files.exists(path)) {
            missingNodes.makeCapability(path, major.getAsInt(), minor);
        }
        return node(name, major.getAsInt(), minor);
    }

    /** Returns the major of the nodes of MIG instances' capabilities. */
    public OptionalInt capsMajor() throws IOException {
        Integer major = majors().get(CAPS);
        return major == null ? OptionalInt.empty() : OptionalInt.of(major);
    }

    /** Returns the path of a GPU's node, whether it exists or not. */
    public static String nameOf(Gpu gpu) {
        return nameOf(gpu.minor());
    }

    /** Returns the paths of all nodes of {@link #allOf}, whether they exist or not. */
    public static List<String> namesOf(Gpu gpu) {
        List<String> names = new ArrayList<>(List.of(nameOf(gpu)));
        for (Part part : gpu.part().stream().toList()) {
            names.add("/dev/" + nameOfCapability(part.gpuAccess()));
            names.add("/dev/" + nameOfCapability(part.computeAccess()));
        }
        return names;
    }

    private static String nameOfCapability(int minor) {
        return CAPS + "/nvidia-cap" + minor;
    }

    /** Returns the path of the node of a GPU of which only the minor is known. */
    public static String nameOf(int minor) {
        return "/dev/nvidia" + minor;
    }

    /**
     * The nodes of GPUs that a path leads to, by their minors.
     *
     * @param directory whether it leads to a directory, and so to everything in it
     * @param complete false when a directory has too many entries to check all of them
     */
    public record Reached(Set<Integer> minors, boolean directory, boolean complete) {
        public Reached {
            minors = Set.copyOf(minors);
        }
    }

    /**
     * Returns the nodes of GPUs that docker gives a container for {@code --device}: a node, a
     * graphics node or a link to one, whatever its name, or all nodes in a directory and those
     * below it, where links are not followed and graphics nodes do not count. A path that does not
     * exist is judged by its name alone. Opens no node.
     *
     * @param path on this machine
     */
    public Reached given(Path path) throws IOException {
        return reached(path, Integer.MAX_VALUE);
    }

    /**
     * Returns the nodes of GPUs that a container with this path mounted sees, as far as a search is
     * worthwhile: like {@link #given}, but searches no deeper than a directory itself and its
     * subdirectory {@code dev}.
     */
    public Reached seen(Path path) throws IOException {
        return reached(path, 1);
    }

    private Reached reached(Path path, int levels) throws IOException {
        int major = gpuMajor();
        if (!Files.isDirectory(path)) {
            OptionalInt minor =
                    Files.exists(path) ? gpuOf(deviceOf(path), major) : minorOf(path.toString());
            Set<Integer> minors = minor.isEmpty() ? Set.of() : Set.of(minor.getAsInt());
            return new Reached(minors, false, true);
        }
        NodeSearch search = new NodeSearch(major, levels);
        search.search(path.toRealPath());
        if (levels == 1) {
            search.search(path.toRealPath().resolve("dev"));
        }
        return search.found();
    }

    /** Returns the minor of the GPU whose node, or whose graphics node, a device is. */
    private OptionalInt gpuOf(long device, int major) throws IOException {
        return Posix.major(device) == DrmNodes.MAJOR
                ? DrmNodes.minorOf(HostDriver.read(host), host, Posix.minor(device))
                : minor(device, major);
    }

    /** Returns the minor of a GPU's node; the driver's other nodes have the same major. */
    static OptionalInt minor(long device, int major) {
        int minor = Posix.minor(device);
        return device != 0 && Posix.major(device) == major && minor < FIRST_OF_OTHERS
                ? OptionalInt.of(minor)
                : OptionalInt.empty();
    }

    /** Returns the minor in the name of a GPU's node, whatever exists there. */
    public static OptionalInt minorOf(String node) {
        Matcher name = NAME.matcher(node);
        return name.matches()
                ? OptionalInt.of(Integer.parseInt(name.group(1)))
                : OptionalInt.empty();
    }

    private DeviceNode node(String name, int major, int minor) throws IOException {
        String spelled = "/dev/" + name;
        Path path = host.resolve(spelled);
        if (!Files.exists(path)) {
            missingNodes.make(path, major, minor);
        }
        long found = deviceOf(path);
        if (found != Posix.device(major, minor)) {
            throw new FailedException(
                    "%s is not the character device %s:%s that the driver has now"
                            .formatted(path, major, minor),
                    "remove it, it is made again");
        }
        DeviceNode node = new DeviceNode(spelled, path, major, minor);
        links.make(node);
        return node;
    }

    /** Links the nodes of {@link #unlinked}. */
    public void link() {
        links.makeMissing();
    }

    /**
     * Returns the driver's nodes that are there, made by any program, and that no link {@code
     * /dev/char/<major>:<minor>} leads to.
     */
    public List<DeviceNode> unlinked() throws IOException {
        return links.missing();
    }

    /** Returns 0, which no device of the driver has, for anything but a device node. */
    private static long deviceOf(Path path) throws IOException {
        return FileStatus.of(path).characterDevice();
    }

    /**
     * Returns the major of all GPUs. Its name was nvidia-frontend until the 5xx drivers; both are
     * major 195 so far.
     *
     * @throws NoDriverException when no driver is loaded
     */
    public int gpuMajor() throws IOException {
        Map<String, Integer> majors = majors();
        for (String name : List.of("nvidia", "nvidia-frontend", "nvidiactl")) {
            if (majors.containsKey(name)) {
                return majors.get(name);
            }
        }
        throw new NoDriverException(
                host.resolve("/proc/devices") + " lists no device 'nvidia' or 'nvidia-frontend'",
                "load the driver with 'modprobe nvidia'");
    }

    /** Returns the majors of the other devices by which GPUs are used: nvidia-uvm, nvidia-caps. */
    public Set<Integer> otherMajors() throws IOException {
        Set<Integer> others = new HashSet<>();
        majors().forEach((name, major) -> {
            if (name.startsWith(DRIVER)) {
                others.add(major);
            }
        });
        others.removeAll(FabricNodes.majors(host));
        others.remove(gpuMajor());
        return others;
    }

    private int uvmMajor() throws IOException {
        Integer major = majors().get(UVM);
        if (major != null) {
            return major;
        }
        String reason = "/proc/devices does not list it after that";
        try {
            modules.load(UVM);
            major = majors().get(UVM);
        } catch (IOException e) {
            reason = e.getMessage();
        }
        if (major == null) {
            throw new NoDriverException(
                    "the kernel module nvidia-uvm, without which CUDA does not work, is not loaded"
                            + " and cannot be ("
                            + reason
                            + ")",
                    "load it with 'modprobe nvidia-uvm' or 'nvidia-modprobe -u -c=0'");
        }
        return major;
    }

    private Map<String, Integer> majors() throws IOException {
        return DeviceMajors.read(host);
    }
}
