package jnvdocker.mesos.agent;

import jnvdocker.host.Gpu;
import jnvdocker.labels.CudaVersion;
import jnvdocker.labels.DriverVersion;

import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * What a framework may choose agents by: {@code nvidia_driver}, {@code nvidia_cuda} and {@code
 * nvidia_gpu}. All are texts for Mesos, of letters, digits and {@code _.-/} only.
 */
final class AgentAttributes {
    private AgentAttributes() {}

    /** Versions begin with a v: else Mesos would take 12.10 for the number 12.1. */
    static String text(DriverVersion driver, Optional<CudaVersion> cuda, List<Gpu> offered) {
        StringBuilder text = new StringBuilder("nvidia_driver:v").append(word(driver.toString()));
        cuda.ifPresent(version -> text.append(";nvidia_cuda:v").append(version));
        String models = models(offered);
        return models.isEmpty() ? text.toString() : text + ";nvidia_gpu:" + models;
    }

    /** Parted by slashes: Mesos takes no set here, and advises against naming one key twice. */
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
