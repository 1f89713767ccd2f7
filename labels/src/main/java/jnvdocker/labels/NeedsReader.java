package jnvdocker.labels;

import jnvdocker.words.Quote;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/** Finds in labels and environment what concerns us, and bounds it. */
final class NeedsReader {
    static final String DRIVER_VOLUME = "nvidia_driver";
    static final String VOLUMES_LABEL = "com.nvidia.volumes.needed";
    static final String VISIBLE_DEVICES = "NVIDIA_VISIBLE_DEVICES";
    static final String CUDA_LABEL = "com.nvidia.cuda.version";
    static final String CUDA_VERSION = "CUDA_VERSION";
    static final String DISABLE_REQUIRE = "NVIDIA_DISABLE_REQUIRE";

    private static final String REQUIRE = "NVIDIA_REQUIRE_";
    private static final String REQUIRE_JETPACK = "NVIDIA_REQUIRE_JETPACK";
    private static final String SKIP = "set " + DISABLE_REQUIRE + "=1";

    /** As in {@code LABEL com.nvidia.cuda.version=${CUDA_VERSION}}, from a build without it. */
    private static final Pattern VARIABLE = Pattern.compile("\\$(\\{|[A-Za-z_])");

    private static final int LENGTH = 64 * 1024;
    private static final int REQUIREMENTS = 32;

    private final ImageConfig image;
    private final Map<String, String> userEnv;
    private final Map<String, String> environment;

    NeedsReader(ImageConfig image, Map<String, String> userEnv) {
        this.image = image;
        this.userEnv = userEnv;
        this.environment = new LinkedHashMap<>(image.environment());
        userEnv.forEach((name, value) -> {
            if (value == null) {
                environment.remove(name);
            } else {
                environment.put(name, value);
            }
        });
    }

    /** Whether the label or the variable requests GPUs, or the driver at least. */
    boolean requestsGpus() throws BadImageException {
        boolean requested = false;
        for (String name : label(VOLUMES_LABEL).split("\\s+")) {
            if (!name.isEmpty() && !name.equals(DRIVER_VOLUME)) {
                throw new BadImageException(
                        "unsupported volume: %s (label %s)"
                                .formatted(Quote.shown(name), VOLUMES_LABEL),
                        "jnvdocker knows " + DRIVER_VOLUME);
            }
            requested |= !name.isEmpty();
        }
        return devicesVisible() || requested;
    }

    private boolean devicesVisible() throws BadImageException {
        List<String> devices = visibleDevices();
        return !devices.isEmpty() && !devices.contains("void");
    }

    boolean noDeviceVisible() throws BadImageException {
        return visibleDevices().equals(List.of("none"));
    }

    /** The image's own variable: the user chooses GPUs with --gpus or NV_GPU. */
    private List<String> visibleDevices() throws BadImageException {
        String value = image.environment().getOrDefault(VISIBLE_DEVICES, "");
        return Arrays.stream(
                        bounded(value, "variable " + VISIBLE_DEVICES + " of the image").split(","))
                .map(String::strip)
                .filter(device -> !device.isEmpty())
                .toList();
    }

    boolean requireDisabled() throws BadImageException {
        return switch (variable(DISABLE_REQUIRE)) {
            case "1", "t", "T", "TRUE", "true", "True" -> true;
            default -> false;
        };
    }

    List<NamedRequirement> requirements() throws BadImageException {
        List<NamedRequirement> requirements = new ArrayList<>();
        for (String name : environment.keySet()) {
            if (!name.startsWith(REQUIRE) || name.startsWith(REQUIRE_JETPACK)) {
                continue;
            }
            NamedRequirement named = new NamedRequirement(name, origin(name), requirement(name));
            if (!named.requirement().isEmpty()) {
                requirements.add(named);
            }
            if (requirements.size() > REQUIREMENTS) {
                throw new BadImageException(
                        "more than %d variables %s*".formatted(REQUIREMENTS, REQUIRE), SKIP);
            }
        }
        return requirements;
    }

    private Requirement requirement(String name) throws BadImageException {
        String value = variable(name);
        try {
            return Requirement.parse(value);
        } catch (IllegalArgumentException e) {
            throw new BadImageException(
                    "%s (%s of %s)".formatted(e.getMessage(), Quote.shown(name), origin(name)),
                    SKIP,
                    e);
        }
    }

    /** The label's version; empty if it is missing or names a variable that no build expanded. */
    Optional<CudaVersion> minimumCuda() throws BadImageException {
        String value = label(CUDA_LABEL).strip();
        if (value.isEmpty() || VARIABLE.matcher(value).find()) {
            return Optional.empty();
        }
        try {
            return Optional.of(CudaVersion.parse(value));
        } catch (IllegalArgumentException e) {
            throw new BadImageException(
                    "%s (label %s)".formatted(e.getMessage(), CUDA_LABEL), SKIP, e);
        }
    }

    /**
     * The version in the variable that NVIDIA's images have had since 2016, without the label:
     * NVIDIA's runtime requires it where {@code NVIDIA_REQUIRE_CUDA} is missing, too.
     */
    Optional<CudaVersion> builtForCuda() throws BadImageException {
        return label(CUDA_LABEL).isBlank()
                ? version(variable(CUDA_VERSION).strip())
                : Optional.empty();
    }

    private static Optional<CudaVersion> version(String value) {
        try {
            return value.isEmpty() ? Optional.empty() : Optional.of(CudaVersion.parse(value));
        } catch (IllegalArgumentException e) {
            return Optional.empty(); // any variable may have this name
        }
    }

    /** Whether nothing but {@code CUDA_VERSION} says that it is for GPUs. */
    boolean impliesGpus() throws BadImageException {
        return !image.environment().containsKey(VISIBLE_DEVICES)
                && !image.environment().containsKey(REQUIRE + "CUDA")
                && label(CUDA_LABEL).isBlank()
                && version(image.environment().getOrDefault(CUDA_VERSION, "").strip()).isPresent();
    }

    /** The label of the CUDA version, where it names a variable that no build has expanded. */
    Optional<Unchecked> unreadLabel() throws BadImageException {
        String value = label(CUDA_LABEL).strip();
        return VARIABLE.matcher(value).find()
                ? Optional.of(
                        new Unchecked(
                                "label " + CUDA_LABEL + "=" + Quote.shown(value),
                                "the build of the image has not expanded the variable"))
                : Optional.empty();
    }

    private String label(String name) throws BadImageException {
        String value = image.labels().get(name);
        return bounded(value == null ? "" : value, "label " + name);
    }

    private String variable(String name) throws BadImageException {
        String value = environment.getOrDefault(name, "");
        return bounded(value, "variable " + Quote.shown(name) + " of " + origin(name));
    }

    private NamedRequirement.Origin origin(String name) {
        return userEnv.containsKey(name)
                ? NamedRequirement.Origin.COMMAND_LINE
                : NamedRequirement.Origin.IMAGE;
    }

    private static String bounded(String value, String what) throws BadImageException {
        if (value.length() > LENGTH) {
            throw new BadImageException(
                    "%s has %d characters, at most %d are read"
                            .formatted(what, value.length(), LENGTH),
                    "shorten it");
        }
        return value;
    }
}
