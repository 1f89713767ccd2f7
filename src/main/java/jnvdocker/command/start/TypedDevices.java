package jnvdocker.command.start;

import jnvdocker.docker.cli.DeviceOption;
import jnvdocker.docker.cli.RunCommand;
import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.host.GpuInventory;
import jnvdocker.host.NoDriverException;
import jnvdocker.posix.FileErrors;
import jnvdocker.use.DeviceRule;
import jnvdocker.use.HostPaths;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Finds the GPUs behind {@code --device} and {@code --device-cgroup-rule} by their numbers, as the
 * kernel does: the name and place of a node are its user's choice.
 */
final class TypedDevices {
    private static final Duration LIMIT = Duration.ofSeconds(5);

    private final GpuInventory inventory;
    private final DeviceNodes nodes;
    private final HostPaths paths;
    private final Supplier<StartContainer.Settings> settings;

    TypedDevices(
            GpuInventory inventory, DeviceNodes nodes, Supplier<StartContainer.Settings> settings) {
        this.inventory = inventory;
        this.nodes = nodes;
        this.paths = new HostPaths(nodes, LIMIT);
        this.settings = settings;
    }

    /**
     * @throws RefusedException for an option that opens GPUs that cannot be distinguished from
     *     other devices
     */
    TypedGpus of(RunCommand run) throws RefusedException, IOException {
        List<DeviceOption> devices = run.devices().stream().filter(DeviceOption::opened).toList();
        if (devices.isEmpty() && run.deviceRules().isEmpty()) {
            return TypedGpus.byName(run);
        }
        try {
            return of(devices, run.deviceRules(), nodes.gpuMajor());
        } catch (NoDriverException e) {
            return TypedGpus.byName(run);
        }
    }

    private TypedGpus of(List<DeviceOption> devices, List<String> rules, int major)
            throws RefusedException, IOException {
        Set<Integer> minors = new TreeSet<>();
        Set<Integer> named = new TreeSet<>();
        String option = TypedGpus.DEVICE;
        for (String text : rules) {
            Set<Integer> covered = covered(text, major);
            if (!covered.isEmpty()) {
                option = typed("--device-cgroup-rule", text);
                minors.addAll(covered);
            }
        }
        for (DeviceOption device : devices) {
            for (int minor : minors(device)) {
                minors.add(minor);
                if (device.isCalledAsAGpu()) {
                    named.add(minor);
                }
            }
        }
        return new TypedGpus(minors, named, option);
    }

    /**
     * Returns the minors of the host's GPUs that a rule allows to open, if it covers the driver's
     * major.
     */
    private Set<Integer> covered(String text, int major) throws RefusedException, IOException {
        Set<Integer> covered = new TreeSet<>();
        Optional<DeviceRule> rule = DeviceRule.parse(text);
        if (rule.filter(DeviceRule.IMPOSSIBLE::equals).isPresent()) {
            throw DeviceRule.impossible(typed("--device-cgroup-rule", text));
        }
        if (rule.isPresent() && (rule.get().isOfAnyMajor() || rule.get().major() == major)) {
            soundMinors().stream()
                    .filter(minor -> rule.get().covers(major, minor))
                    .forEach(covered::add);
        }
        if (covered.isEmpty() || !rule.get().isOfAnyMajor()) {
            return covered;
        }
        if (!settings.get().allowPrivileged()) {
            throw new RefusedException(
                    typed("--device-cgroup-rule", text) + " opens GPUs that others hold",
                    "name a major number, or have an administrator set allow_privileged = true");
        }
        // As good as --privileged, which does not request a GPU either.
        return Set.of();
    }

    private Set<Integer> minors(DeviceOption device) throws RefusedException, IOException {
        DeviceNodes.Reached reached;
        try {
            reached = paths.given(device.host());
        } catch (IOException e) {
            throw new RefusedException(
                    "%s: it is not known whether that is a GPU (%s)"
                            .formatted(typed("--device", device.typed()), FileErrors.describe(e)),
                    "name the device's own node in /dev");
        }
        if (!reached.complete()) {
            throw new RefusedException(
                    typed("--device", device.typed())
                            + " names a directory with too many files to search for GPU nodes",
                    "name the nodes themselves");
        }
        if (!reached.directory()) {
            return reached.minors();
        }
        // A node may be left over from a GPU that the host no longer has.
        Set<Integer> minors = new TreeSet<>(reached.minors());
        minors.retainAll(soundMinors());
        return minors;
    }

    private Set<Integer> soundMinors() throws IOException {
        return inventory.read().gpus().stream()
                .filter(Gpu::isSound)
                .map(Gpu::minor)
                .collect(Collectors.toSet());
    }

    private static String typed(String option, String value) {
        return option + " " + Quote.quoted(value);
    }
}
