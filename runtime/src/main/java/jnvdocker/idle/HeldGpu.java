package jnvdocker.idle;

import jnvdocker.idle.GpuSample.Use;
import jnvdocker.lease.IdleSource;

import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A GPU under a lease, as far as it was watched. Times are milliseconds since the boot.
 *
 * @param counted until when its idle time is counted already
 * @param memory as it was seen last
 */
record HeldGpu(Map<IdleSource, Stretch> stretches, long counted, OptionalLong memory) {
    HeldGpu {
        stretches = Map.copyOf(stretches);
    }

    /** A GPU that was not watched until now. */
    static final HeldGpu UNKNOWN = new HeldGpu(Map.of(), 0, OptionalLong.empty());

    /** A GPU with a holder that has begun at that time: so it was not idle before. */
    static HeldGpu begun(long at) {
        Stretch use = new Stretch(false, at, false, at);
        return new HeldGpu(
                Map.of(IdleSource.NODES, use, IdleSource.NVML, use), at, OptionalLong.empty());
    }

    /**
     * Returns it after another sample. A GPU that works has a process, though that may have ended
     * by the time that the processes were scanned.
     */
    HeldGpu after(GpuSample sample, long now) {
        Use nodes = sample.nvml() == Use.USED ? Use.USED : sample.nodes();
        Map<IdleSource, Stretch> next = new EnumMap<>(IdleSource.class);
        next.putAll(stretches);
        put(next, IdleSource.NODES, nodes, now);
        put(next, IdleSource.NVML, sample.nvml(), now);
        return new HeldGpu(next, counted, sample.memory());
    }

    private static void put(
            Map<IdleSource, Stretch> stretches, IdleSource source, Use use, long now) {
        if (use != Use.UNKNOWN) {
            Optional<Stretch> before = Optional.ofNullable(stretches.get(source));
            stretches.put(source, Stretch.after(before, use == Use.IDLE, now));
        }
    }

    /** Returns by what it is known to be idle, the longest first. */
    List<IdleSource> idle(long now) {
        return stretches.entrySet().stream()
                .filter(it -> it.getValue().idle() && it.getValue().isKnown(now))
                .sorted(
                        Comparator.comparingLong((Map.Entry<IdleSource, Stretch> it) ->
                                        it.getValue().since())
                                .thenComparing(Map.Entry::getKey))
                .map(Map.Entry::getKey)
                .toList();
    }

    /** Returns the longest stretch in which it has been idle until now. */
    Optional<Stretch> longest(long now) {
        return idle(now).stream().map(stretches::get).findFirst();
    }

    /** Returns its memory; empty when NVML has not reported it lately. */
    OptionalLong memory(long now) {
        boolean known =
                Optional.ofNullable(stretches.get(IdleSource.NVML))
                        .filter(it -> it.isKnown(now))
                        .isPresent();
        return known ? memory : OptionalLong.empty();
    }

    HeldGpu with(IdleSource source, Stretch stretch) {
        Map<IdleSource, Stretch> more = new EnumMap<>(IdleSource.class);
        more.putAll(stretches);
        more.put(source, stretch);
        return new HeldGpu(more, counted, memory);
    }

    /** Returns the same, with its idle time counted until then. */
    HeldGpu countedUntil(long time) {
        return new HeldGpu(stretches, time, memory);
    }
}
