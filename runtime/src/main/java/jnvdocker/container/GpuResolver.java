package jnvdocker.container;

import jnvdocker.host.Gpu;
import jnvdocker.labels.RefusedException;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** Finds the GPUs that ids mean: an index, a UUID or the beginning of one, a PCI address. */
public final class GpuResolver {
    private GpuResolver() {}

    /**
     * @return the GPUs in order of index
     * @throws RefusedException naming the id that means no GPU, more than one, or one that another
     *     id has named: who writes {@code 0,0} wants two GPUs, or has mistyped
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
                                + " is named twice, as "
                                + other
                                + " and as "
                                + id
                                + "; name each GPU once");
            }
            found.add(gpu);
        }
        found.sort(Comparator.comparing(Gpu::index));
        return found;
    }

    private static Gpu resolve(String id, List<Gpu> gpus) throws RefusedException {
        List<Gpu> meant = gpus.stream().filter(gpu -> means(id, gpu)).toList();
        if (meant.isEmpty()) {
            throw new RefusedException("invalid device: " + id + "; " + choice(gpus));
        }
        if (meant.size() > 1) {
            String uuids = meant.stream().map(Gpu::uuid).collect(Collectors.joining(", "));
            throw new RefusedException(
                    "invalid device: "
                            + id
                            + "; it is the beginning of more than one UUID ("
                            + uuids
                            + "), type more of it");
        }
        return meant.getFirst();
    }

    private static boolean means(String id, Gpu gpu) {
        if (id.matches("[0-9]{1,4}")) {
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
        if (!id.matches("([0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]")) {
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
        String indices =
                gpus.stream().map(gpu -> "" + gpu.index()).collect(Collectors.joining(", "));
        return "this host has " + indices + " ('jnvdocker gpu ls' shows their UUIDs)";
    }
}
