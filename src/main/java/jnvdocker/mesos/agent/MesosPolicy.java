package jnvdocker.mesos.agent;

import jnvdocker.config.ConfigFile;
import jnvdocker.config.ConfigTable;
import jnvdocker.config.ConfigValues;
import jnvdocker.config.StartException;
import jnvdocker.host.Gpu;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.GpuResolver;
import jnvdocker.words.Indices;
import jnvdocker.words.RefusedException;
import jnvdocker.words.Span;

import java.time.Duration;
import java.util.List;

/**
 * Which GPUs Mesos tasks get, and how long they wait.
 *
 * @param gpus ids of the only GPUs that they get, as {@code --gpus} spells them; empty for any GPU
 * @param patience how long a task waits for GPUs that are held
 */
public record MesosPolicy(List<String> gpus, Duration patience) {
    /** Well below the agent's default for an executor to register, which is a minute. */
    public static final Duration WAIT = Duration.ofSeconds(30);

    /**
     * How long a task may wait; with zero it is refused at once. Our mesos-containerizer gives up a
     * daemon that says nothing for 50 seconds.
     */
    public static final Span.Limits WAITS = new Span.Limits(Duration.ZERO, Duration.ofSeconds(45));

    /** The table {@code [mesos]} of the configuration. */
    public static final ConfigTable<MesosPolicy> TABLE =
            new ConfigTable<>("mesos", MesosPolicy::read);

    public MesosPolicy {
        gpus = List.copyOf(gpus);
    }

    private static MesosPolicy read(ConfigFile written) throws StartException {
        String besides = "and keep well below the agent's --executor_registration_timeout";
        return new MesosPolicy(
                ConfigValues.gpuIds(written.at("gpus")),
                ConfigValues.span(written.at("wait"), WAITS, besides).orElse(WAIT));
    }

    /** Whether tasks may get some GPUs only, whatever the host has. */
    public boolean isRestricted() {
        return !gpus.isEmpty();
    }

    /**
     * Whether tasks may get this GPU: a beginning that several UUIDs share means all of them. MIG
     * instances are for containers of engines: an agent does not know them.
     */
    public boolean gives(Gpu gpu) {
        return gpu.part().isEmpty()
                && (gpus.isEmpty() || gpus.stream().anyMatch(id -> GpuResolver.means(id, gpu)));
    }

    /**
     * Returns the GPUs of the host that a task may get.
     *
     * @throws RefusedException when it requests others, or more
     */
    public List<Gpu> givenOf(List<Gpu> host, GpuRequest request) throws RefusedException {
        List<Gpu> given = host.stream().filter(this::gives).toList();
        switch (request) {
            case GpuRequest.Devices(List<String> ids) -> {
                for (Gpu gpu : GpuResolver.resolve(ids, host)) {
                    refuseUnless(gives(gpu), "GPU " + gpu.number() + " requested");
                }
            }
            case GpuRequest.Count(int count, _) ->
                    refuseUnless(
                            count <= given.size() || count > host.size(),
                            count + " GPUs requested");
            case GpuRequest.All _ -> refuseUnless(!given.isEmpty(), "GPUs requested");
            case GpuRequest.None _, GpuRequest.With _ -> {}
        }
        return given;
    }

    private void refuseUnless(boolean given, String requested) throws RefusedException {
        if (!given) {
            throw new RefusedException(
                    requested
                            + ", but Mesos tasks get only "
                            + (gpus.isEmpty()
                                    ? "whole GPUs"
                                    : Indices.typed(gpus) + " (mesos.gpus in the configuration)"),
                    "have the agent offer only these ('jnvdocker mesos flags')");
        }
    }

    /** Ids that none of these GPUs has. */
    public List<String> givesNothing(List<Gpu> host) {
        return GpuResolver.coveringNone(gpus, host);
    }
}
