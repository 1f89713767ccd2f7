package jnvdocker.command.start;

import jnvdocker.host.Gpu;
import jnvdocker.labels.DriverFacts;
import jnvdocker.labels.GpuNeeds;
import jnvdocker.labels.Unchecked;
import jnvdocker.labels.UnmetNeedException;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.nvml.GpuFacts;
import jnvdocker.request.GpuFilter;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.GpuResolver;
import jnvdocker.words.Indices;
import jnvdocker.words.RefusedException;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

/** The GPUs of a host that meet what an image requires of a GPU, and why the others do not. */
public final class SuitedGpus {
    private static final String SKIP = "set NVIDIA_DISABLE_REQUIRE=1";

    private final List<Gpu> all;
    private final List<Gpu> suited = new ArrayList<>();
    private final Map<Gpu, UnmetNeedException> others = new LinkedHashMap<>();
    private final Set<Unchecked> unchecked = new LinkedHashSet<>();

    /**
     * @param driver the facts that are the same for all GPUs
     * @param known what NVML has reported about a GPU
     */
    SuitedGpus(
            GpuNeeds needs,
            DriverFacts driver,
            List<Gpu> all,
            Function<Gpu, Optional<GpuFacts>> known) {
        this.all = List.copyOf(all);
        for (Gpu gpu : all) {
            try {
                unchecked.addAll(needs.check(facts(driver, known.apply(gpu))));
                suited.add(gpu);
            } catch (UnmetNeedException e) {
                others.put(gpu, e);
            }
        }
    }

    /**
     * The facts that conditions compare, in order of the GPUs; of a host without a GPU those of the
     * driver alone.
     */
    public static List<DriverFacts> facts(
            DriverFacts driver, List<Gpu> all, Function<Gpu, Optional<GpuFacts>> known) {
        return all.isEmpty()
                ? List.of(driver)
                : all.stream().map(gpu -> facts(driver, known.apply(gpu))).toList();
    }

    private static DriverFacts facts(DriverFacts driver, Optional<GpuFacts> known) {
        DriverFacts facts = driver;
        Optional<String> arch =
                known.flatMap(GpuFacts::computeCapability)
                        .map(GpuFacts.ComputeCapability::toString);
        if (arch.isPresent()) {
            facts = facts.withArch(arch.get());
        }
        Optional<String> brand = known.flatMap(GpuFacts::brand).map(GpuFacts.Brand::toString);
        return brand.isPresent() ? facts.withBrand(brand.get()) : facts;
    }

    /** The requirements that some GPU meets only because a fact about it is not known. */
    Set<Unchecked> unchecked() {
        return unchecked;
    }

    /** The GPUs that do not meet them, each with a sentence. */
    List<String> leftOut() {
        return others.entrySet().stream()
                .map(other -> name(other.getKey()) + " is left out: " + what(other.getValue()))
                .toList();
    }

    /**
     * Returns the UUIDs of the only GPUs that may be given; none if any may.
     *
     * @throws RefusedException when those that are requested are not among them
     */
    Set<String> candidates(GpuRequest request) throws RefusedException {
        if (others.isEmpty() || request instanceof GpuRequest.None) {
            return Set.of();
        }
        if (suited.isEmpty()) {
            throw others.values().iterator().next();
        }
        return switch (request) {
            case GpuRequest.None _ -> Set.of();
            case GpuRequest.All _, GpuRequest.With _ -> uuids();
            case GpuRequest.Count(int count, GpuFilter _) -> {
                refuseTooMany(count);
                yield uuids();
            }
            case GpuRequest.Devices(List<String> ids) -> {
                for (Gpu gpu : GpuResolver.resolve(ids, all)) {
                    refuseOther(gpu);
                }
                yield Set.of();
            }
        };
    }

    private Set<String> uuids() {
        return suited.stream().map(Gpu::uuid).collect(Collectors.toSet());
    }

    /** A count above the number of GPUs of the host is refused later, when GPUs are chosen. */
    private void refuseTooMany(int count) throws RefusedException {
        if (count > suited.size() && count <= all.size()) {
            Map.Entry<Gpu, UnmetNeedException> other = others.entrySet().iterator().next();
            throw new RefusedException(
                    count
                            + " GPUs requested, but the image can use only "
                            + (suited.size() == 1 ? "GPU " : "GPUs ")
                            + indices()
                            + ": "
                            + what(other.getValue())
                            + " on "
                            + name(other.getKey()),
                    "request fewer, or " + SKIP);
        }
    }

    private void refuseOther(Gpu gpu) throws RefusedException {
        UnmetNeedException why = others.get(gpu);
        if (why != null) {
            throw new RefusedException(
                    "the image cannot use " + name(gpu) + ": " + what(why),
                    "take another (it can use: " + indices() + "), or " + SKIP);
        }
    }

    private String indices() {
        return Indices.numbers(suited.stream().map(Gpu::number));
    }

    private static String what(UnmetNeedException why) {
        return why.refusal().what();
    }

    private static String name(Gpu gpu) {
        return LeaseText.name(gpu.number(), gpu.uuid());
    }
}
