package jnvdocker.labels;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The labels and variables of an image about GPUs, word for word; {@link GpuNeeds} is what they
 * mean. Foreign text, as long as the image has it.
 *
 * @param by the label and the variable that say whether GPUs are needed, as NAME=VALUE
 * @param cuda the label of the CUDA version
 * @param capabilities NVIDIA_DRIVER_CAPABILITIES
 * @param disableRequire NVIDIA_DISABLE_REQUIRE
 */
public record RawNeeds(
        List<String> by,
        Optional<String> cuda,
        Optional<String> capabilities,
        Optional<String> disableRequire) {
    public RawNeeds {
        by = List.copyOf(by);
    }

    public static RawNeeds of(ImageConfig image) {
        return new RawNeeds(
                Stream.of(
                                setting(image.labels(), NeedsReader.VOLUMES_LABEL),
                                setting(image.environment(), NeedsReader.VISIBLE_DEVICES))
                        .flatMap(Optional::stream)
                        .toList(),
                value(image.labels(), NeedsReader.CUDA_LABEL),
                value(image.environment(), "NVIDIA_DRIVER_CAPABILITIES"),
                value(image.environment(), NeedsReader.DISABLE_REQUIRE));
    }

    private static Optional<String> setting(Map<String, String> settings, String name) {
        return value(settings, name).map(value -> name + "=" + value);
    }

    private static Optional<String> value(Map<String, String> settings, String name) {
        return Optional.ofNullable(settings.get(name)).filter(value -> !value.isBlank());
    }
}
