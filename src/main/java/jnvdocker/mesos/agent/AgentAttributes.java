package jnvdocker.mesos.agent;

import jnvdocker.host.Gpu;
import jnvdocker.labels.CudaVersion;
import jnvdocker.labels.DriverVersion;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Attributes by which a framework may choose agents: {@code nvidia_driver}, {@code nvidia_cuda} and
 * {@code nvidia_gpu}. Mesos takes each as text, which consists of letters, digits and {@code _.-/}.
 */
final class AgentAttributes {
    private static final String DRIVER = "nvidia_driver";
    private static final String CUDA = "nvidia_cuda";
    private static final String GPU = "nvidia_gpu";
    private static final Set<String> OURS = Set.of(DRIVER, CUDA, GPU);

    private AgentAttributes() {}

    /**
     * Versions begin with a v: otherwise Mesos would read 12.10 as the number 12.1.
     *
     * @param given the agent's other attributes, {@code name:value;…}; may be empty
     */
    static String text(
            String given, DriverVersion driver, Optional<CudaVersion> cuda, List<Gpu> offered) {
        Stream<String> others =
                Stream.of(given.split(";"))
                        .map(String::strip)
                        .filter(one -> !one.isEmpty() && !OURS.contains(name(one)));
        Stream<String> ours =
                Stream.of(
                        DRIVER + ":v" + word(driver.toString()),
                        cuda.map(version -> CUDA + ":v" + version).orElse(""),
                        Optional.of(models(offered))
                                .filter(models -> !models.isEmpty())
                                .map(models -> GPU + ":" + models)
                                .orElse(""));
        return Stream.concat(others, ours)
                .filter(one -> !one.isEmpty())
                .collect(Collectors.joining(";"));
    }

    private static String name(String attribute) {
        int colon = attribute.indexOf(':');
        return colon < 0 ? attribute : attribute.substring(0, colon).strip();
    }

    /** Separated by slashes: Mesos knows no sets here, and advises against repeating a name. */
    private static String models(List<Gpu> offered) {
        return offered.stream()
                .map(Gpu::model)
                .map(AgentAttributes::word)
                .filter(model -> !model.isEmpty())
                .distinct()
                .collect(Collectors.joining("/"));
    }

    private static String word(String text) {
        return text.replaceAll("[^a-zA-Z0-9.-]+", "_").replaceAll("^_+|_+$", "");
    }
}
