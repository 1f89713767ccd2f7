package jnvdocker.use;

import jnvdocker.host.Gpu;
import jnvdocker.request.GpuResolver;

import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The GPUs that a container was given, whether it uses them or not. One that is privileged was
 * given none by that alone: it may open all, and is known by what it has open.
 */
final class GrantedGpus {
    /** The major of a host without a driver. */
    static final int NO_MAJOR = -1;

    private static final Pattern NODE = Pattern.compile(".*/nvidia[0-9]+|/dev/char/[0-9:]+");
    private static final Pattern PLACE = Pattern.compile("/|/dev(/.*)?|.*/dev|.*/nvidia[0-9]+");

    private static final Pattern CAPABILITY = Pattern.compile(".*/nvidia-cap([0-9]{1,7})");

    private final GpuAccess access;
    private final List<DeviceRule> rules;
    private final Paths paths;

    /** The minors of GPUs, by paths of the host. */
    interface Paths {
        /** The minors of the nodes that docker gives for {@code --device}. */
        Set<Integer> given(String path);

        /** The minors of the nodes that are seen where a path is mounted. */
        Set<Integer> seen(String path);
    }

    GrantedGpus(GpuAccess access, Paths paths) {
        this.access = access;
        this.rules =
                access.rules().stream().flatMap(rule -> DeviceRule.parse(rule).stream()).toList();
        this.paths = paths;
    }

    /**
     * @param major of the GPUs
     * @return by what each was given, in order of index
     */
    Map<Gpu, GpuUse.Kind> kinds(List<Gpu> gpus, int major) {
        Map<Gpu, GpuUse.Kind> kinds = new LinkedHashMap<>();
        Set<Integer> minors = minors(major);
        Capabilities capabilities = capabilities();
        for (Gpu gpu : gpus.stream().filter(Gpu::isIdentified).toList()) {
            for (GpuAccess.Given given : access.given()) {
                if (given.ids().stream().anyMatch(id -> means(id, gpu))) {
                    kinds.putIfAbsent(gpu, given.kind());
                }
            }
            boolean node = minors.contains(gpu.minor()) || isNamedByRule(major, gpu.minor());
            if (node && capabilities.allow(gpu, gpus)) {
                kinds.putIfAbsent(gpu, GpuUse.Kind.NODE);
            }
        }
        return kinds;
    }

    private Capabilities capabilities() {
        return new Capabilities(
                access.devices().stream()
                        .map(CAPABILITY::matcher)
                        .filter(Matcher::matches)
                        .map(node -> Integer.valueOf(node.group(1)))
                        .collect(Collectors.toSet()));
    }

    private Set<Integer> minors(int major) {
        Set<Integer> minors = new HashSet<>();
        access.devices().forEach(path -> minors.addAll(paths.given(path)));
        for (String path : access.binds()) {
            boolean named = access.privileged() && NODE.matcher(path).matches();
            // Any other directory may be of a file system that does not answer.
            boolean searched = !rules.isEmpty() && PLACE.matcher(path).matches();
            if (named || searched) {
                paths.seen(path).stream()
                        .filter(minor -> named || isAllowed(major, minor))
                        .forEach(minors::add);
            }
        }
        return minors;
    }

    /** A mount alone gives no right to open the mounted node. */
    private boolean isAllowed(int major, int minor) {
        return rules.stream().anyMatch(rule -> rule.covers(major, minor));
    }

    /**
     * A process that may open it can make a node for it. A rule for all devices is as good as
     * privileges.
     */
    private boolean isNamedByRule(int major, int minor) {
        return rules.stream().anyMatch(rule -> !rule.isOfAnyMajor() && rule.covers(major, minor));
    }

    /** {@code 0}, {@code 0:1} for a part of it, {@code GPU-5c1a1003}, {@code all}. */
    private static boolean means(String id, Gpu gpu) {
        String lower = id.toLowerCase(Locale.ROOT);
        if (gpu.part().isPresent()) {
            return lower.equals("all") || GpuResolver.covers(id, gpu);
        }
        if (lower.matches("[0-9]{1,4}(:[0-9]+)?")) {
            return Integer.parseInt(lower.replaceFirst(":.*", "")) == gpu.index();
        }
        String whole = lower.replaceFirst("^mig-(gpu-[^/]*)/.*", "$1");
        return lower.equals("all")
                || whole.startsWith("gpu-")
                        && gpu.uuid().toLowerCase(Locale.ROOT).startsWith(whole);
    }
}
