package jnvdocker.use;

import jnvdocker.host.Gpu;

import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The GPUs that a container was given, whether it uses them or not. One that is privileged was
 * given none by that alone: it may open all, and is known by what it has open.
 */
final class GrantedGpus {
    /** Of a host without a driver. */
    static final int NO_MAJOR = -1;

    /** {@code c 195:2 rw}, {@code c *:* rwm}, {@code a}. */
    private static final Pattern RULE =
            Pattern.compile("a|[ac]\\s+(\\*|[0-9]+):(\\*|[0-9]+)\\s+([rwm]+)");

    private static final Pattern NODE = Pattern.compile(".*/nvidia[0-9]+|/dev/char/[0-9:]+");
    private static final Pattern PLACE = Pattern.compile("/|/dev(/.*)?|.*/dev|.*/nvidia[0-9]+");

    private final GpuAccess access;
    private final Function<String, Set<Integer>> minorsAt;

    /**
     * @param minorsAt the minors of the GPUs whose nodes a path of the host leads to
     */
    GrantedGpus(GpuAccess access, Function<String, Set<Integer>> minorsAt) {
        this.access = access;
        this.minorsAt = minorsAt;
    }

    /**
     * @param major of the GPUs
     * @return by what each was given, in order of index
     */
    Map<Gpu, GpuUse.Kind> kinds(List<Gpu> gpus, int major) {
        Map<Integer, GpuUse.Kind> byIndex = new TreeMap<>();
        Set<Integer> minors = minors(major);
        for (Gpu gpu : gpus) {
            for (GpuAccess.Given given : access.given()) {
                if (given.ids().stream().anyMatch(id -> means(id, gpu))) {
                    byIndex.putIfAbsent(gpu.index(), given.kind());
                }
            }
            if (minors.contains(gpu.minor()) || isNamedByRule(major, gpu.minor())) {
                byIndex.putIfAbsent(gpu.index(), GpuUse.Kind.NODE);
            }
        }
        Map<Gpu, GpuUse.Kind> kinds = new LinkedHashMap<>();
        gpus.stream()
                .filter(gpu -> gpu.isSound() && byIndex.containsKey(gpu.index()))
                .forEach(gpu -> kinds.put(gpu, byIndex.get(gpu.index())));
        return kinds;
    }

    private Set<Integer> minors(int major) {
        Set<Integer> minors = new HashSet<>();
        access.devices().forEach(path -> minors.addAll(minorsAt.apply(path)));
        for (String path : access.binds()) {
            boolean named = access.privileged() && NODE.matcher(path).matches();
            // Any other folder may be of a file system that does not answer.
            boolean looked = !access.rules().isEmpty() && PLACE.matcher(path).matches();
            if (named || looked) {
                minorsAt.apply(path).stream()
                        .filter(minor -> named || isAllowed(major, minor))
                        .forEach(minors::add);
            }
        }
        return minors;
    }

    /** A mount alone gives no right to open what is mounted. */
    private boolean isAllowed(int major, int minor) {
        return access.rules().stream().anyMatch(rule -> allows(rule, major, minor, true));
    }

    /** Who may open it can make a node for it. */
    private boolean isNamedByRule(int major, int minor) {
        return access.rules().stream().anyMatch(rule -> allows(rule, major, minor, false));
    }

    /**
     * @param all whether a rule for all devices counts
     */
    private static boolean allows(String rule, int major, int minor, boolean all) {
        Matcher matcher = RULE.matcher(rule.strip());
        if (!matcher.matches()) {
            return false;
        }
        if (matcher.group(1) == null) {
            return all;
        }
        boolean its = matcher.group(1).equals("" + major);
        return (its || all && matcher.group(1).equals("*"))
                && List.of("*", "" + minor).contains(matcher.group(2))
                && !matcher.group(3).equals("m");
    }

    /** {@code 0}, {@code 0:1} for a part of it, {@code GPU-5c1a1003}, {@code all}. */
    private static boolean means(String id, Gpu gpu) {
        String lower = id.toLowerCase(Locale.ROOT);
        if (lower.matches("[0-9]{1,4}(:[0-9]+)?")) {
            return Integer.parseInt(lower.replaceFirst(":.*", "")) == gpu.index();
        }
        String whole = lower.replaceFirst("^mig-(gpu-[^/]*)/.*", "$1");
        return lower.equals("all")
                || whole.startsWith("gpu-")
                        && gpu.uuid().toLowerCase(Locale.ROOT).startsWith(whole);
    }
}
