package jnvdocker.kubernetes;

import jnvdocker.container.CdiSpec;
import jnvdocker.host.DeviceNode;
import jnvdocker.posix.RegularFile;
import jnvdocker.posix.WholeFile;
import jnvdocker.program.TrustedDirectory;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The file of the Container Device Interface for pods: a device for each UUID. It has no hook that
 * takes a lease, since pods have theirs before a runtime sees them.
 */
final class PodCdiFile {
    private static final String NAME = "jnvdocker-pods.json";

    /** The kind of its devices, before {@code =} and the name of one. */
    private static final String KIND = "pod.jnvdocker/gpu";

    private static final Pattern DEVICE = Pattern.compile("[A-Za-z]([A-Za-z0-9_.:-]*[A-Za-z0-9])?");
    private static final int MODE = 0644;
    private static final int LIMIT = 1 << 20;

    private final Path file;
    private final Path driver;

    /**
     * @param directory where runtimes search for such files; need not exist yet
     * @param driver the path of the driver's files, whatever the driver
     */
    PodCdiFile(Path directory, Path driver) {
        this.file = directory.resolve(NAME);
        this.driver = driver;
    }

    /** The path of the file. */
    Path path() {
        return file;
    }

    /** Whether a GPU of this UUID can be a device: those of early MIG instances have slashes. */
    static boolean isDevice(String uuid) {
        return DEVICE.matcher(uuid).matches();
    }

    /** The full name of a device. */
    static String device(String uuid) {
        return KIND + "=" + uuid;
    }

    /**
     * Writes the file, unless it is as it should be.
     *
     * @param control nodes that each container with GPUs has
     * @param gpus the nodes of each GPU, by UUID
     * @return whether it was written
     * @throws RefusedException when it is another jnvdocker's, or others than root could change it
     */
    boolean write(List<DeviceNode> control, Map<String, List<DeviceNode>> gpus)
            throws RefusedException, IOException {
        Optional<String> before = read();
        String after = text(control, gpus);
        if (before.equals(Optional.of(after))) {
            return false;
        }
        if (before.filter(this::isAnothers).isPresent()) {
            throw new RefusedException(
                    file + " belongs to another jnvdocker, or to another program",
                    "set JNVDOCKER_CDI_DIR for one of them, or remove the file");
        }
        TrustedDirectory.check(file.getParent());
        Files.createDirectories(file.getParent());
        WholeFile.write(file, after.getBytes(StandardCharsets.UTF_8), WholeFile.Access.root(MODE));
        return true;
    }

    /** Removes the file if it is ours. */
    boolean remove() throws IOException {
        Optional<String> text = read();
        if (text.isEmpty() || !CdiSpec.driver(text.get(), KIND).equals(Optional.of(driver))) {
            return false;
        }
        WholeFile.delete(file);
        return true;
    }

    private String text(List<DeviceNode> control, Map<String, List<DeviceNode>> gpus) {
        CdiSpec spec = new CdiSpec(KIND);
        gpus.forEach(spec::add);
        spec.addToEach(control, driver);
        return spec.text();
    }

    private Optional<String> read() throws IOException {
        return RegularFile.read(file, LIMIT)
                .map(bytes -> new String(bytes, StandardCharsets.UTF_8));
    }

    /** The file of a removed jnvdocker may be replaced: its path of the driver is missing. */
    private boolean isAnothers(String text) {
        Optional<Path> others = CdiSpec.driver(text, KIND);
        return others.isEmpty()
                || !others.get().equals(driver)
                        && Files.exists(others.get(), LinkOption.NOFOLLOW_LINKS);
    }
}
