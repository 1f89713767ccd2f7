package jnvdocker.recovery;

import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.text.Owners;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A claim as the options of its volume, which docker keeps: a second copy of it. Lists are parted
 * by plus signs, since the options are part of a comma-separated line.
 */
public final class ClaimOptions {
    private static final Pattern UUID =
            Pattern.compile(
                    "(GPU|MIG)-[0-9a-fA-F-]{8,64}|MIG-GPU-[0-9a-fA-F-]{8,64}(/[0-9]{1,4}){2}");
    private static final String WHOLE = "-";
    private static final Pattern NUMBER = Pattern.compile("[0-9]{1,10}");
    private static final int MAX_GPUS = 256;

    private ClaimOptions() {}

    public static Map<String, String> of(Claim claim) {
        Map<String, String> options = new LinkedHashMap<>();
        options.put("gpus", joined(claim.gpus().stream().map(ClaimedGpu::uuid).toList()));
        options.put("minors", joined(claim.gpus().stream().map(ClaimedGpu::minor).toList()));
        if (claim.gpus().stream().anyMatch(gpu -> gpu.partWord().isPresent())) {
            options.put("parts", joined(claim.gpus().stream().map(ClaimOptions::part).toList()));
        }
        options.put("uid", Integer.toUnsignedString(claim.owner().uid()));
        return options;
    }

    /**
     * The claim that a volume was made for.
     *
     * @param engine the id of the one that has the volume
     * @param index of each GPU now, by UUID
     * @return empty when the options are not ours, or were tampered with
     */
    public static Optional<Claim> read(
            ClaimKey key,
            String engine,
            Map<String, String> options,
            Map<String, Integer> index,
            Instant created) {
        List<String> uuids = List.of(options.getOrDefault("gpus", "").split("\\+"));
        List<String> minors = List.of(options.getOrDefault("minors", "").split("\\+"));
        List<String> parts = parts(options, uuids.size());
        String uid = options.getOrDefault("uid", "");
        boolean good =
                uuids.size() == minors.size()
                        && uuids.size() <= MAX_GPUS
                        && uuids.stream().distinct().count() == uuids.size()
                        && uuids.stream().allMatch(UUID.asMatchPredicate())
                        && minors.stream().allMatch(NUMBER.asMatchPredicate())
                        && parts.size() == uuids.size()
                        && parts.stream().allMatch(ClaimOptions::isPartWord)
                        && NUMBER.matcher(uid).matches();
        if (!good) {
            return Optional.empty();
        }
        List<ClaimedGpu> gpus = new ArrayList<>();
        for (int i = 0; i < uuids.size(); i++) {
            int minor = (int) Long.parseLong(minors.get(i));
            gpus.add(
                    ClaimedGpu.read(
                            uuids.get(i),
                            index.getOrDefault(uuids.get(i), minor),
                            minor,
                            Optional.of(parts.get(i))));
        }
        Owner owner = Owners.of((int) Long.parseLong(uid));
        Origin origin = new Origin.EngineContainer(engine, Optional.empty());
        return Optional.of(new Claim(key, origin, owner, gpus, created, Optional.empty()));
    }

    /** None are written where all GPUs are whole. */
    private static List<String> parts(Map<String, String> options, int gpus) {
        return options.containsKey("parts")
                ? List.of(options.get("parts").split("\\+"))
                : Collections.nCopies(gpus, WHOLE);
    }

    private static boolean isPartWord(String text) {
        return text.equals(WHOLE)
                || ClaimedGpu.read("", 0, 0, Optional.of(text)).partWord().isPresent();
    }

    private static String part(ClaimedGpu gpu) {
        return gpu.partWord().orElse(WHOLE);
    }

    private static String joined(List<?> values) {
        return values.stream().map(String::valueOf).collect(Collectors.joining("+"));
    }
}
