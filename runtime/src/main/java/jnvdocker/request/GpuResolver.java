package jnvdocker.request;

import jnvdocker.host.Gpu;
import jnvdocker.host.Part;
import jnvdocker.words.Indices;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Finds the GPUs that ids mean: an index, a UUID or the beginning of one, a PCI address; and MIG
 * instances, by {@code 0:1}, a UUID, or {@code MIG-GPU-…/1/0} as earlier drivers call them.
 */
public final class GpuResolver {
    private static final Pattern INDEX = Pattern.compile("[0-9]{1,4}");
    private static final Pattern PART = Pattern.compile("([0-9]{1,4}):([0-9]{1,4})");
    private static final Pattern UUID = Pattern.compile("(gpu|mig)-[0-9a-f-]*");
    private static final Pattern OLD_UUID =
            Pattern.compile("mig-(gpu-[0-9a-f-]+)/([0-9]{1,4})/([0-9]{1,4})");
    private static final Pattern PCI_ADDRESS =
            Pattern.compile("([0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]");

    private GpuResolver() {}

    /**
     * The ids in a word that was typed or configured: {@code 2,4-7} means five GPUs. A word without
     * any stays as it is.
     */
    public static List<String> ids(String word) {
        List<String> ids = GpuIds.split(word);
        return ids.isEmpty() ? List.of(word) : ids;
    }

    /** Whether an id has one of these forms; one that has not never means a GPU. */
    public static boolean isId(String text) {
        String lower = text.toLowerCase(Locale.ROOT);
        return Stream.of(INDEX, PART, UUID, OLD_UUID, PCI_ADDRESS)
                .anyMatch(form -> form.matcher(lower).matches());
    }

    /** Whether an id can only be a UUID, or the beginning of one. */
    public static boolean isUuid(String id) {
        String lower = id.toLowerCase(Locale.ROOT);
        return lower.startsWith("gpu-") || lower.startsWith("mig-");
    }

    /**
     * @param ids each may be a list, see {@link #ids(String)}
     * @return the GPUs in order of index
     * @throws RefusedException naming the id that means no GPU, more than one, or one that another
     *     id has named: {@code 0,0} means two GPUs, or is mistyped
     */
    public static List<Gpu> resolve(Collection<String> ids, List<Gpu> gpus)
            throws RefusedException {
        List<Gpu> found = new ArrayList<>();
        Map<Gpu, String> named = new HashMap<>();
        for (String id : ids.stream().flatMap(word -> ids(word).stream()).toList()) {
            Gpu gpu = resolve(id, gpus);
            String other = named.put(gpu, id);
            if (other != null) {
                throw new RefusedException(
                        "GPU "
                                + gpu.number()
                                + " is named twice"
                                + (other.equals(id)
                                        ? ""
                                        : ", as %s and as %s"
                                                .formatted(Quote.shown(other), Quote.shown(id))),
                        "name each GPU once");
            }
            found.add(gpu);
        }
        found.sort(Gpu.ORDER);
        return found;
    }

    private static Gpu resolve(String id, List<Gpu> gpus) throws RefusedException {
        List<Gpu> meant = gpus.stream().filter(gpu -> means(id, gpu)).toList();
        if (meant.isEmpty()) {
            refuseWhole(id, gpus);
            refuseUnknownPart(id, gpus);
            throw new RefusedException("invalid device: " + Quote.shown(id), choice(gpus));
        }
        if (meant.size() > 1) {
            String uuids = meant.stream().map(Gpu::uuid).collect(Collectors.joining(", "));
            throw new RefusedException(
                    "invalid device: " + Quote.shown(id),
                    "more than one UUID begins with it (" + uuids + "), type more of it");
        }
        return meant.getFirst();
    }

    /** A GPU in MIG mode can only be used by its instances. */
    private static void refuseWhole(String id, List<Gpu> gpus) throws RefusedException {
        List<Gpu> parts = gpus.stream().filter(gpu -> covers(id, gpu)).toList();
        if (!parts.isEmpty()) {
            String numbers = Indices.numbers(parts.stream().map(Gpu::number));
            throw new RefusedException(
                    "GPU " + parts.getFirst().index() + " is in MIG mode and not given out whole",
                    "name an instance of it (" + numbers + ")");
        }
    }

    /** After the host's start it takes a while until the instances of a GPU are known. */
    private static void refuseUnknownPart(String id, List<Gpu> gpus) throws RefusedException {
        Matcher number = PART.matcher(id);
        boolean numbered = number.matches();
        if (!numbered && !id.toLowerCase(Locale.ROOT).startsWith("mig-")) {
            return;
        }
        for (Gpu gpu : gpus) {
            boolean its = !numbered || Integer.parseInt(number.group(1)) == gpu.index();
            if (its && !gpu.isSound()) {
                throw new RefusedException(
                        Quote.shown(id)
                                + " is not known, and GPU "
                                + gpu.index()
                                + " cannot be given out: "
                                + gpu.trouble().map(Refusal::what).orElseThrow(),
                        "try again when 'jnvdocker gpu ls' shows it");
            }
        }
    }

    /** Whether an id is one of this GPU's, or of the whole GPU that it is a part of. */
    public static boolean covers(String id, Gpu gpu) {
        return means(id, gpu)
                || gpu.part().map(part -> meansWhole(id, gpu, part.parent())).orElse(false);
    }

    /** Ids that cover none of these GPUs: typos, perhaps. */
    public static List<String> coveringNone(List<String> ids, List<Gpu> gpus) {
        return ids.stream().filter(id -> gpus.stream().noneMatch(gpu -> covers(id, gpu))).toList();
    }

    /** Whether an id is one of this GPU's; of a UUID's beginning it may be another's, too. */
    public static boolean means(String id, Gpu gpu) {
        return gpu.part()
                .map(part -> meansPart(id, gpu, part))
                .orElseGet(() -> meansWhole(id, gpu, gpu.uuid()));
    }

    private static boolean meansPart(String id, Gpu gpu, Part part) {
        String lower = id.toLowerCase(Locale.ROOT);
        Matcher number = PART.matcher(id);
        if (number.matches()) {
            return Integer.parseInt(number.group(1)) == gpu.index()
                    && Integer.parseInt(number.group(2)) == part.number();
        }
        Matcher old = OLD_UUID.matcher(lower);
        return lower.startsWith("mig-") && gpu.uuid().toLowerCase(Locale.ROOT).startsWith(lower)
                || old.matches()
                        && part.parent().toLowerCase(Locale.ROOT).equals(old.group(1))
                        && Integer.parseInt(old.group(2)) == part.gpuInstance()
                        && Integer.parseInt(old.group(3)) == part.computeInstance();
    }

    private static boolean meansWhole(String id, Gpu gpu, String uuid) {
        if (INDEX.matcher(id).matches()) {
            return Integer.parseInt(id) == gpu.index();
        }
        String lower = id.toLowerCase(Locale.ROOT);
        if (lower.startsWith("gpu-")) {
            return uuid.toLowerCase(Locale.ROOT).startsWith(lower);
        }
        return samePciAddress(lower, gpu.pciAddress());
    }

    /** The domain may be left out, or have NVML's 8 digits in place of the kernel's 4. */
    private static boolean samePciAddress(String id, String address) {
        if (!PCI_ADDRESS.matcher(id).matches()) {
            return false;
        }
        return full(id).equals(full(address));
    }

    private static String full(String address) {
        String padded = "00000000:" + address;
        if (address.indexOf(':') != address.lastIndexOf(':')) {
            padded = "0".repeat(16 - Math.min(16, address.length())) + address;
        }
        return padded.substring(padded.length() - 16);
    }

    private static String choice(List<Gpu> gpus) {
        if (gpus.isEmpty()) {
            return "this host has no GPU";
        }
        return "this host has "
                + Indices.numbers(gpus.stream().map(Gpu::number))
                + " ('jnvdocker gpu ls' shows their UUIDs)";
    }
}
