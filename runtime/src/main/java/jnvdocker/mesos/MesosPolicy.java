package jnvdocker.mesos;

import java.time.Duration;
import java.util.List;

/**
 * What the lab's configuration says about Mesos tasks.
 *
 * @param gpus ids of the only GPUs that they get; empty for any
 * @param patience for how long one waits for a GPU that another still has
 */
public record MesosPolicy(List<String> gpus, Duration patience) {
    public MesosPolicy {
        gpus = List.copyOf(gpus);
    }
}
