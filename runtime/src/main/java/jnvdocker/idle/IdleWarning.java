package jnvdocker.idle;

import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.IdleSource;
import jnvdocker.lease.Lease;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Logs that GPUs are held and not used. */
final class IdleWarning {
    private final Log log;

    /** See {@link jnvdocker.decision.DecisionLog#idle}. */
    @FunctionalInterface
    interface Log {
        void idle(Lease lease, List<ClaimedGpu> gpus, Duration time, String reason);
    }

    IdleWarning(Log log) {
        this.log = log;
    }

    /**
     * @param idle GPUs of one lease
     * @param remark that follows the reason
     */
    void log(List<IdleHolder> idle, Instant now, String remark) {
        Map<IdleSource, List<IdleHolder>> bySource =
                idle.stream()
                        .collect(
                                Collectors.groupingBy(
                                        IdleHolder::source, TreeMap::new, Collectors.toList()));
        bySource.forEach((source, gpus) -> {
            Lease lease = gpus.getFirst().lease();
            List<ClaimedGpu> its =
                    lease.claim().gpus().stream().filter(gpu -> isAmong(gpus, gpu)).toList();
            Duration time =
                    gpus.stream().map(it -> it.time(now)).min(Duration::compareTo).orElseThrow();
            log.idle(lease, its, time, reason(source, gpus) + remark);
        });
    }

    private static boolean isAmong(List<IdleHolder> idle, ClaimedGpu gpu) {
        return idle.stream().anyMatch(it -> it.gpu().uuid().equals(gpu.uuid()));
    }

    private static String reason(IdleSource source, List<IdleHolder> idle) {
        return switch (source) {
            case NODES -> IdleText.noProcess(idle.getFirst()) + " has had its node open";
            case NVML -> {
                long memory = idle.stream().mapToLong(it -> it.memory().orElse(0)).sum();
                yield IdleText.noUse(idle.getFirst())
                        + (memory == 0 ? "" : ", " + IdleText.gib(memory) + " held");
            }
        };
    }
}
