package jnvdocker.request;

import jnvdocker.host.Gpu;
import jnvdocker.words.Indices;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Finds the GPUs that ids mean: an index, a UUID or the beginning of one, a PCI address. */
public final class GpuResolver {
    private static final Pattern INDEX = Pattern.compile("[0-9]{1,4}");
    private static final Pattern UUID = Pattern.compile("gpu-[0-9a-f-]*");
    private static final Pattern PCI_ADDRESS =
            Pattern.compile("([0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]");

    private GpuResolver() {}

    /** Whether an id has one of these forms; one that has not never means a GPU. */
    public static boolean isId(String text) {
        String lower = text.toLowerCase(Locale.ROOT);
        return Stream.of(INDEX, UUID, PCI_ADDRESS).anyMatch(form -> form.matcher(lower).matches());
    }

    /**
     * @return the GPUs in order of index
     * @throws RefusedException naming the id that means no GPU, more than one, or one that another
     *     id has named: {@code 0,0} means two GPUs, or is mistyped
     */
    public static List<Gpu> resolve(Collection<String> ids, List<Gpu> gpus)
            throws RefusedException {
        List<Gpu> found = new ArrayList<>();
        Map<Integer, String> named = new HashMap<>();
        for (String id : ids) {
            Gpu gpu = resolve(id, gpus);
            String other = named.put(gpu.index(), id);
            if (other != null) {
                throw new RefusedException(
                        "GPU "
                                + gpu.index()
                                + " is named twice"
                                + (other.equals(id)
                                        ? ""
                                        : ", as "
                                                + Quote.shown(other)
                                                + " and as "
                                                + Quote.shown(id)),
                        "name each GPU once");
            }
            found.add(gpu);
        }
        found.sort(Comparator.comparingInt(Gpu::index));
        return found;
    }

    private static Gpu resolve(String id, List<Gpu> gpus) throws RefusedException {
        List<Gpu> meant = gpus.stream().filter(gpu -> means(id, gpu)).toList();
        if (meant.isEmpty()) {
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

    /** Whether an id is one of this GPU's; of a UUID's beginning it may be another's, too. */
    public static boolean means(String id, Gpu gpu) {
        if (INDEX.matcher(id).matches()) {
            return Integer.parseInt(id) == gpu.index();
        }
        String lower = id.toLowerCase(Locale.ROOT);
        if (lower.startsWith("gpu-")) {
            return gpu.uuid().toLowerCase(Locale.ROOT).startsWith(lower);
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
                + Indices.text(gpus.stream().map(Gpu::index))
                + " ('jnvdocker gpu ls' shows their UUIDs)";
    }
}
