package jnvdocker.container;

import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.util.List;
import java.util.Map;

/**
 * The variables by which a container requests to configure or to watch the MIG instances of GPUs.
 * As with NVIDIA's runtime, that takes a privileged container.
 */
public final class MigVariables {
    private static final List<String> NAMES =
            List.of("NVIDIA_MIG_CONFIG_DEVICES", "NVIDIA_MIG_MONITOR_DEVICES");

    private MigVariables() {}

    /**
     * @param environment the container's variables
     * @param allowed whether the container is privileged, or gets no GPU
     * @throws RefusedException naming the variable
     */
    public static void refuse(Map<String, String> environment, boolean allowed)
            throws RefusedException {
        for (String name : NAMES) {
            String value = environment.get(name);
            if (!allowed && value != null && !value.isBlank()) {
                throw new RefusedException(
                        name
                                + "="
                                + Quote.shown(value)
                                + " requests the MIG configuration of GPUs, for which a container"
                                + " must be privileged",
                        "set "
                                + name
                                + " to nothing, and configure MIG on the host: nvidia-smi mig");
            }
        }
    }
}
