package jnvdocker.labels;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The needs of an image. It needs GPUs when its label {@code com.nvidia.volumes.needed} names
 * {@code nvidia_driver}, or its variable {@code NVIDIA_VISIBLE_DEVICES} is neither empty nor {@code
 * void}. Which GPUs, it never says, except that {@code none} means the driver volume and the
 * control nodes alone; its user may choose others.
 *
 * <p>How much driver it needs is in its variables {@code NVIDIA_REQUIRE_*}, all of which must be
 * met, and in its label {@code com.nvidia.cuda.version} or else its variable {@code CUDA_VERSION},
 * which count where there is no {@code NVIDIA_REQUIRE_CUDA}. (That one knows about forward
 * compatibility, the label does not.) {@code NVIDIA_REQUIRE_JETPACK*} speaks of another kind of
 * machine and is skipped, as in NVIDIA's container toolkit.
 */
public final class GpuNeeds {
    /** The labels that are read. */
    public static final List<String> LABELS =
            List.of(NeedsReader.VOLUMES_LABEL, NeedsReader.CUDA_LABEL);

    private final boolean gpus;
    private final boolean driverAlone;
    private final boolean requireDisabled;
    private final CudaMinimum minimumCuda;
    private final boolean implied;
    private final Optional<Unchecked> unreadLabel;
    private final List<NamedRequirement> requirements;

    private GpuNeeds(
            boolean gpus,
            boolean driverAlone,
            boolean requireDisabled,
            CudaMinimum minimumCuda,
            boolean implied,
            Optional<Unchecked> unreadLabel,
            List<NamedRequirement> requirements) {
        this.gpus = gpus;
        this.driverAlone = driverAlone;
        this.requireDisabled = requireDisabled;
        this.minimumCuda = minimumCuda;
        this.implied = implied;
        this.unreadLabel = unreadLabel;
        this.requirements = List.copyOf(requirements);
    }

    /**
     * @throws BadImageException as {@link #of(ImageConfig, Map)}
     */
    public static GpuNeeds of(ImageConfig image) throws BadImageException {
        return of(image, Map.of());
    }

    /**
     * @param userEnv the user's variables for the container ({@code docker run --env}); a null
     *     value takes the variable away, as {@code --env NAME} does when NAME is not set. Of these,
     *     {@code NVIDIA_DISABLE_REQUIRE} and {@code NVIDIA_REQUIRE_*} count
     * @throws BadImageException when an unknown volume is named, a version or requirement is
     *     malformed, or something that is read is longer than 64 KiB. Requirements of an image that
     *     needs no GPU, or has its check disabled, are not read
     */
    public static GpuNeeds of(ImageConfig image, Map<String, String> userEnv)
            throws BadImageException {
        NeedsReader reader = new NeedsReader(image, userEnv);
        boolean gpus = reader.requestsGpus();
        return gpus
                ? of(reader, gpus)
                : new GpuNeeds(
                        false,
                        false,
                        false,
                        null,
                        reader.impliesGpus(),
                        Optional.empty(),
                        List.of());
    }

    /**
     * The needs of an image that gets GPUs whether or not it requests them: its requirements of
     * them count then.
     *
     * @throws BadImageException as {@link #of(ImageConfig, Map)}
     */
    public static GpuNeeds withGpus(ImageConfig image, Map<String, String> userEnv)
            throws BadImageException {
        NeedsReader reader = new NeedsReader(image, userEnv);
        return of(reader, reader.requestsGpus());
    }

    private static GpuNeeds of(NeedsReader reader, boolean gpus) throws BadImageException {
        boolean driverAlone = reader.noDeviceVisible();
        if (reader.requireDisabled()) {
            return new GpuNeeds(gpus, driverAlone, true, null, false, Optional.empty(), List.of());
        }
        List<NamedRequirement> requirements = reader.requirements();
        boolean requiresCuda =
                requirements.stream().anyMatch(each -> each.name().equals("NVIDIA_REQUIRE_CUDA"));
        if (requiresCuda) {
            return new GpuNeeds(
                    gpus, driverAlone, false, null, false, Optional.empty(), requirements);
        }
        return new GpuNeeds(
                gpus,
                driverAlone,
                false,
                minimum(reader),
                false,
                reader.unreadLabel(),
                requirements);
    }

    /** The lowest CUDA version, and the label or variable that says so. */
    private record CudaMinimum(CudaVersion version, String where) {}

    private static CudaMinimum minimum(NeedsReader reader) throws BadImageException {
        Optional<CudaVersion> label = reader.minimumCuda();
        return label.isPresent()
                ? new CudaMinimum(label.get(), "label " + NeedsReader.CUDA_LABEL)
                : reader.builtForCuda()
                        .map(version ->
                                new CudaMinimum(version, "variable " + NeedsReader.CUDA_VERSION))
                        .orElse(null);
    }

    /**
     * Whether it does not say that it needs GPUs, and NVIDIA's runtime gives it all of them since
     * it has the variable {@code CUDA_VERSION}.
     */
    public boolean implied() {
        return implied;
    }

    /** Whether it needs GPUs, or at least the driver, at all. */
    public boolean gpus() {
        return gpus;
    }

    /** Whether it needs the driver, and no GPU unless its user requests one. */
    public boolean driverAlone() {
        return driverAlone;
    }

    /**
     * Whether {@code NVIDIA_DISABLE_REQUIRE} is set, by image or user, to what NVIDIA's container
     * toolkit takes for true (Go's {@code strconv.ParseBool}): 1, t, T, true, True, TRUE. Then
     * nothing is checked. False for an image that needs no GPU.
     */
    public boolean requireDisabled() {
        return requireDisabled;
    }

    /** In the image's order, then those that only the user set. */
    public List<NamedRequirement> requirements() {
        return requirements;
    }

    /** Whether it matters for them which CUDA version the driver supports. */
    public boolean dependOnCuda() {
        return minimumCuda != null || mention(Property.CUDA);
    }

    /** Whether it matters for them which GPU it is. */
    public boolean dependOnGpu() {
        return mention(Property.ARCH) || mention(Property.BRAND);
    }

    /** Whether it matters for them whether CUDA libraries of the image's own come first. */
    public boolean restOnCompat(DriverFacts facts) {
        return requirements.stream()
                .anyMatch(named -> named.requirement().restsOnCompat(facts).isPresent());
    }

    /** Whether they have a condition on CUDA that the driver does not meet. */
    public boolean lackCuda(DriverFacts facts) {
        return requirements.stream()
                .flatMap(named -> named.requirement().alternatives().stream())
                .map(each -> each.only(Fulfilment.UNMET, facts))
                .anyMatch(each -> each.properties().contains(Property.CUDA));
    }

    private boolean mention(Property property) {
        return requirements.stream()
                .flatMap(named -> named.requirement().alternatives().stream())
                .anyMatch(each -> each.properties().contains(property));
    }

    /**
     * @return the needs that passed without a check, as {@link #unchecked}
     * @throws UnmetNeedException for the first that is not met
     */
    public List<Unchecked> check(DriverFacts facts) throws UnmetNeedException {
        List<UnmetNeedException> unmet = unmet(facts);
        if (!unmet.isEmpty()) {
            throw unmet.getFirst();
        }
        return unchecked(facts);
    }

    /** Everything that is not met, in words. */
    public List<String> unmetBy(DriverFacts facts) {
        return unmet(facts).stream().map(UnmetNeedException::getMessage).toList();
    }

    private List<UnmetNeedException> unmet(DriverFacts facts) {
        List<UnmetNeedException> unmet = new ArrayList<>();
        if (labelUnmet(facts)) {
            unmet.add(UnmetNeeds.label(this, minimumCuda.version(), facts));
        }
        for (NamedRequirement named : requirements) {
            if (!named.requirement().isMetBy(facts)) {
                unmet.add(UnmetNeeds.requirement(this, named, facts));
            }
        }
        return unmet;
    }

    /** The needs that pass only because a fact is not known, or because they cannot be read. */
    public List<Unchecked> unchecked(DriverFacts facts) {
        List<Unchecked> unchecked = new ArrayList<>(unreadLabel.stream().toList());
        if (minimumCuda != null && facts.cuda().isEmpty()) {
            String need = "cuda>=" + minimumCuda.version() + " (" + minimumCuda.where() + ")";
            unchecked.add(Unchecked.unknown(List.of(Property.CUDA), need));
        }
        for (NamedRequirement named : requirements) {
            named.requirement()
                    .unknown(facts)
                    .map(unknown -> unchecked(unknown, named))
                    .ifPresent(unchecked::add);
        }
        return List.copyOf(unchecked);
    }

    boolean areMetBy(DriverFacts facts) {
        return !labelUnmet(facts)
                && requirements.stream().allMatch(named -> named.requirement().isMetBy(facts));
    }

    private boolean labelUnmet(DriverFacts facts) {
        return minimumCuda != null
                && facts.cuda()
                        .filter(cuda -> cuda.compareTo(minimumCuda.version()) < 0)
                        .isPresent();
    }

    private static Unchecked unchecked(Alternative unknown, NamedRequirement named) {
        return Unchecked.unknown(unknown.properties(), unknown + " (" + named.where() + ")");
    }
}
