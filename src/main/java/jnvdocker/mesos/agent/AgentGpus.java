package jnvdocker.mesos.agent;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Cordon;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Verdict;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.words.Indices;
import jnvdocker.words.Refusal;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * Which of a host's GPUs an agent offers. A GPU that is held counts, since it will be free again.
 *
 * @param offered in order of index
 * @param leftOut of those that were wanted, each with the reason, for people
 */
record AgentGpus(List<Gpu> offered, List<String> leftOut) {

    AgentGpus {
        offered = List.copyOf(offered);
        leftOut = List.copyOf(leftOut);
    }

    /** Selects the GPUs that are wanted and can be given out. */
    static AgentGpus of(List<GpuStatus> host, Predicate<Gpu> wanted) {
        List<Gpu> offered = new ArrayList<>();
        List<String> leftOut = new ArrayList<>();
        for (GpuStatus status : host) {
            Gpu gpu = status.gpu();
            if (gpu.part().isEmpty() && wanted.test(gpu)) {
                Optional<String> trouble = trouble(status);
                if (trouble.isEmpty()) {
                    offered.add(gpu);
                } else {
                    leftOut.add(
                            LeaseText.name(gpu.number(), gpu.uuid())
                                    + " is left out: "
                                    + trouble.get());
                }
            }
        }
        return new AgentGpus(offered, leftOut);
    }

    /** Why it is not given out; empty when it is, now or after its holder. */
    private static Optional<String> trouble(GpuStatus status) {
        if (status.state() == GpuStatus.State.MISSING) {
            return Optional.of(status.note());
        }
        for (Verdict.Reason reason : status.verdict().reasons()) {
            switch (reason) {
                case Verdict.Sick(Refusal fault) -> {
                    return Optional.of(fault.what());
                }
                case Verdict.Nameless _ -> {
                    return Optional.of("it has no UUID yet");
                }
                case Verdict.Cordoned(Cordon cordon) -> {
                    return Optional.of(LeaseText.cordoned(cordon));
                }
                case Verdict.Held _ -> {
                    return Optional.empty();
                }
                case Verdict.InUse _ -> {
                    return Optional.of(status.note());
                }
                case Verdict.NotAllowed _, Verdict.Unsuited _, Verdict.KeptFor _ -> {}
            }
        }
        return Optional.empty();
    }

    /** The indices of all whole ones that are there, given out or not. */
    static String indices(List<GpuStatus> host) {
        List<Gpu> present =
                host.stream()
                        .filter(status -> status.state() != GpuStatus.State.MISSING)
                        .map(GpuStatus::gpu)
                        .filter(gpu -> gpu.part().isEmpty())
                        .toList();
        return present.isEmpty() ? "none" : Indices.numbers(present.stream().map(Gpu::number));
    }
}
