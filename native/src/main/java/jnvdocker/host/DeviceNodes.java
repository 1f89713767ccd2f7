package jnvdocker.host;

import jnvdocker.posix.Errno;
import jnvdocker.posix.FileStatus;
import jnvdocker.posix.Posix;
import jnvdocker.posix.PosixException;
import jnvdocker.words.FailedException;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The driver's device nodes under {@code /dev}. One that is missing is made, as nvidia-modprobe
 * would: its major from {@code /proc/devices}, owner and mode from {@code
 * /proc/driver/nvidia/params}.
 */
public final class DeviceNodes {
    private static final String DRIVER = "nvidia";
    private static final String UVM = "nvidia-uvm";
    private static final Pattern NAME = Pattern.compile("(?:.*/)?nvidia([0-9]{1,3})");
    private static final String MODESET = "nvidia-modeset";
    private static final int CTL_MINOR = 255;

    /** That of nvidia-modeset; nvidiactl's is the next. */
    private static final int FIRST_OF_OTHERS = 254;

    private final Host host;
    private final KernelModules modules;

    public DeviceNodes(Host host) {
        this(host, KernelModules.of(host));
    }

    DeviceNodes(Host host, KernelModules modules) {
        this.host = host;
        this.modules = modules;
    }

    /**
     * Loads the driver's kernel module when nobody has, as happens on a host without X.
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
     * All nodes that containers may be given: {@link #control} and every GPU's, in order of index,
     * each GPU with its UUID known. One that the driver cannot talk to has none.
     *
     * @throws IOException when one is missing and cannot be made, or is not the device it should be
     */
    public List<DeviceNode> all() throws IOException {
        List<DeviceNode> nodes = new ArrayList<>(control());
        for (Gpu gpu : new GpuInventory(host, this).read().gpus()) {
            if (gpu.isSound()) {
                nodes.add(of(gpu));
            }
        }
        return nodes;
    }

    /**
     * A node that is not as the driver has it.
     *
     * @param missing whether there is nothing of its name, or else something other than the device
     * @param made whether {@link #all} makes it, or the administrator alone may
     */
    public record Fault(Path path, boolean missing, boolean made, int major, int minor) {}

    /**
     * What is wrong with the nodes that containers with these GPUs need. Makes none and loads
     * nothing: of a module that is not loaded there are no nodes to be wrong.
     *
     * @throws NoDriverException when no driver is loaded
     */
    public List<Fault> faults(List<Gpu> gpus) throws IOException {
        List<Fault> faults = new ArrayList<>();
        int major = gpuMajor();
        look("nvidiactl", major, CTL_MINOR, faults);
        Integer uvm = majors().get(UVM);
        if (uvm != null) {
            look("nvidia-uvm", uvm, 0, faults);
            look("nvidia-uvm-tools", uvm, 1, faults);
        }
        for (Gpu gpu : gpus) {
            if (gpu.isSound()) {
                look("nvidia" + gpu.minor(), major, gpu.minor(), faults);
            }
        }
        return faults;
    }

    /** Whether the kernel module is loaded without which CUDA does not work. */
    public boolean hasUvm() throws IOException {
        return majors().containsKey(UVM);
    }

    private void look(String name, int major, int minor, List<Fault> faults) throws IOException {
        Path path = host.resolve("/dev/" + name);
        boolean missing = !Files.exists(path);
        if (missing || deviceOf(path) != Posix.device(major, minor)) {
            boolean made = parameters().modifyDeviceFiles();
            faults.add(new Fault(path, missing, made, major, minor));
        }
    }

    /**
     * The nodes that every container with a GPU needs: nvidiactl, nvidia-uvm, nvidia-uvm-tools.
     *
     * @throws IOException when one is missing and cannot be made, or is not the device it should be
     */
    public List<DeviceNode> control() throws IOException {
        int uvm = uvmMajor();
        return List.of(
                node("nvidiactl", gpuMajor(), CTL_MINOR),
                node("nvidia-uvm", uvm, 0),
                node("nvidia-uvm-tools", uvm, 1));
    }

    /**
     * The node that programs need which draw on a screen or by Vulkan; empty where the module
     * nvidia-modeset is not loaded, as on most hosts without screens. Drivers that say
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
     * The node of one GPU, {@code /dev/nvidia<minor>}.
     *
     * @throws IOException when it is missing and cannot be made, or is not the device it should be
     */
    public DeviceNode of(Gpu gpu) throws IOException {
        return node("nvidia" + gpu.minor(), gpuMajor(), gpu.minor());
    }

    /** What a GPU's node is called, whether it is there or not. */
    public static String nameOf(Gpu gpu) {
        return nameOf(gpu.minor());
    }

    /** The same of a GPU of which no more is known than its minor. */
    public static String nameOf(int minor) {
        return "/dev/nvidia" + minor;
    }

    /**
     * The GPUs whose nodes a path leads to.
     *
     * @param folder whether it leads to a folder, and so to whatever is in it
     * @param complete false where a folder has so much in it that not all of it was looked at
     */
    public record Reached(Set<Integer> minors, boolean folder, boolean complete) {
        public Reached {
            minors = Set.copyOf(minors);
        }
    }

    /**
     * The GPUs whose nodes docker gives a container for {@code --device}: a node or a link to one,
     * whatever it is called, or all nodes in a folder and in those below it, where links are not
     * followed. By its name alone for a path that is not there. Opens no node.
     *
     * @param path on this machine
     */
    public Reached given(Path path) throws IOException {
        return reached(path, Integer.MAX_VALUE);
    }

    /**
     * The GPUs whose nodes a container sees that has a path mounted, as far as they are worth a
     * look: as {@link #given}, but of a folder only what is in it or in its folder {@code dev}.
     */
    public Reached seen(Path path) throws IOException {
        return reached(path, 1);
    }

    private Reached reached(Path path, int levels) throws IOException {
        int major = gpuMajor();
        if (!Files.isDirectory(path)) {
            OptionalInt minor =
                    Files.exists(path) ? minor(deviceOf(path), major) : minorOf(path.toString());
            Set<Integer> minors = minor.isEmpty() ? Set.of() : Set.of(minor.getAsInt());
            return new Reached(minors, false, true);
        }
        NodeSearch search = new NodeSearch(major, levels);
        search.look(path.toRealPath());
        if (levels == 1) {
            search.look(path.toRealPath().resolve("dev"));
        }
        return search.found();
    }

    /** The minor of a GPU's node; the driver's other nodes have the same major. */
    static OptionalInt minor(long device, int major) {
        int minor = Posix.minor(device);
        return device != 0 && Posix.major(device) == major && minor < FIRST_OF_OTHERS
                ? OptionalInt.of(minor)
                : OptionalInt.empty();
    }

    /** That of a GPU's node by its name, whatever is there. */
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
            make(path, major, minor);
        }
        long found = deviceOf(path);
        if (found != Posix.device(major, minor)) {
            throw new FailedException(
                    path
                            + " is not the character device "
                            + major
                            + ":"
                            + minor
                            + " that the driver has now",
                    "remove it, it is made again");
        }
        return new DeviceNode(spelled, path, major, minor);
    }

    /**
     * Makes the link {@code /dev/char/<major>:<minor>} to a node, which udev makes for most devices
     * and not for the driver's. Without it runc up to 1.1.6 leaves the device out of the rules that
     * it hands to systemd, which applies these anew whenever it is reloaded.
     */
    public void linkByNumber(DeviceNode node) throws IOException {
        Path folder = host.resolve("/dev/char");
        Path link = folder.resolve(node.major() + ":" + node.minor());
        if (!Files.exists(link, LinkOption.NOFOLLOW_LINKS)) {
            Files.createDirectories(folder);
            try {
                Files.createSymbolicLink(
                        link, Path.of("..", node.hostPath().getFileName().toString()));
            } catch (FileAlreadyExistsException e) {
                // Somebody else was quicker.
            }
        }
    }

    /** 0, which no device of the driver has, for what is no device node. */
    private static long deviceOf(Path path) throws IOException {
        return FileStatus.of(path).characterDevice();
    }

    private void make(Path path, int major, int minor) throws IOException {
        NodeParameters parameters = parameters();
        if (!parameters.modifyDeviceFiles()) {
            throw new IOException(
                    path
                            + " is missing, and the driver's parameter ModifyDeviceFiles=0 says"
                            + " that the administrator makes device nodes: mknod "
                            + path
                            + " c "
                            + major
                            + " "
                            + minor);
        }
        try {
            Posix.mknod(path, parameters.mode(), major, minor);
        } catch (PosixException e) {
            if (e.errno() == Errno.EEXIST) {
                return;
            }
            throw new FailedException(
                    "cannot make the missing device node: " + e.getMessage(),
                    "make it by hand (mknod "
                            + path
                            + " c "
                            + major
                            + " "
                            + minor
                            + ") or with nvidia-modprobe",
                    e);
        }
        Posix.chmod(path, parameters.mode());
        Posix.chown(path, parameters.uid(), parameters.gid());
    }

    /**
     * The major of all GPUs. Its name was nvidia-frontend until the 5xx drivers; both are major 195
     * so far.
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

    /** The majors of the driver's other devices: nvidia-uvm, nvidia-caps and the like. */
    public Set<Integer> otherMajors() throws IOException {
        Set<Integer> others = new HashSet<>();
        majors().forEach((name, major) -> {
            if (name.startsWith(DRIVER)) {
                others.add(major);
            }
        });
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
        return parseMajors(KernelText.read(host.resolve("/proc/devices")));
    }

    /** The character devices in the text of {@code /proc/devices}: name to major. */
    static Map<String, Integer> parseMajors(String text) {
        Map<String, Integer> majors = new HashMap<>();
        boolean characters = false;
        for (String line : text.split("\n")) {
            if (line.endsWith(":")) {
                characters = line.startsWith("Character");
                continue;
            }
            String[] words = line.strip().split("\\s+");
            if (characters && words.length == 2 && words[0].matches("[0-9]{1,4}")) {
                majors.putIfAbsent(words[1], Integer.parseInt(words[0]));
            }
        }
        return majors;
    }

    private NodeParameters parameters() throws IOException {
        return NodeParameters.read(host);
    }
}
