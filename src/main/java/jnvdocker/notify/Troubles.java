package jnvdocker.notify;

import jnvdocker.decision.DecisionLog;
import jnvdocker.host.Gpu;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.use.GpuUse;
import jnvdocker.use.RunningContainer;
import jnvdocker.words.Refusal;

import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The troubles of GPUs, which are no decisions, whether a GPU is held or not: a fault, a GPU that
 * the driver does not show any more, and each use without a lease. Each is an event when it is seen
 * for the first time, and again when it was gone in between.
 */
final class Troubles {
    private Set<Key> before = Set.of();

    /**
     * @param what the fault, the container, or the user of a process: a program may have many
     */
    private record Key(String gpu, String event, String what) {}

    /** Returns the events since the call before. */
    List<Event> next(List<GpuStatus> gpus, Instant now) {
        Set<Key> all = new HashSet<>();
        List<Event> events = new ArrayList<>();
        for (GpuStatus status : gpus) {
            String uuid = status.gpu().uuid();
            status.gpu()
                    .trouble()
                    .map(Refusal::what)
                    .filter(why -> isNew(all, new Key(uuid, "sick", why)))
                    .ifPresent(why -> events.addAll(broken("sick", status, why, now)));
            if (status.state() == GpuStatus.State.MISSING
                    && isNew(all, new Key(uuid, "missing", ""))) {
                events.addAll(broken("missing", status, status.note(), now));
            }
            for (GpuUse use : status.unmanaged()) {
                if (isNew(all, new Key(uuid, "unmanaged", user(use)))) {
                    events.add(unmanaged(status, use, now));
                }
            }
        }
        before = all;
        return events;
    }

    private boolean isNew(Set<Key> all, Key key) {
        return all.add(key) && !before.contains(key);
    }

    private static String user(GpuUse use) {
        return LeaseText.containerId(use)
                .or(() -> LeaseText.other(use).map(it -> it.title()))
                .or(() -> use.process().map(process -> "uid " + process.uid()))
                .orElse("");
    }

    private static String name(Gpu gpu) {
        return LeaseText.name(gpu.number(), gpu.uuid());
    }

    /** An event for each holder, since each is another user's; one if nobody holds the GPU. */
    private static List<Event> broken(String event, GpuStatus status, String why, Instant now) {
        List<Event> events = new ArrayList<>();
        for (GpuStatus each : status.each()) {
            Map<String, String> fields =
                    each.lease().map(DecisionLog::fields).orElseGet(HashMap::new);
            fields.put("JNVDOCKER_GPUS", status.gpu().uuid());
            fields.put("JNVDOCKER_REASON", why);
            String of = each.lease().map(lease -> " of " + LeaseText.holder(lease)).orElse("");
            String line = name(status.gpu()) + of + " is " + event + ": " + why;
            events.add(Event.of(event, now, line, fields));
        }
        return events;
    }

    private static Event unmanaged(GpuStatus status, GpuUse use, Instant now) {
        Map<String, String> fields = new HashMap<>();
        fields.put("JNVDOCKER_GPUS", status.gpu().uuid());
        fields.put("JNVDOCKER_REASON", LeaseText.how(use));
        LeaseText.owner(use).ifPresent(owner -> DecisionLog.putOwner(fields, owner));
        Optional<RunningContainer> container = use.container();
        container.ifPresent(it -> fields.put("JNVDOCKER_CONTAINER", it.name()));
        LeaseText.containerId(use).ifPresent(id -> fields.put("JNVDOCKER_CONTAINER_ID", id));
        use.process().ifPresent(process -> fields.put("JNVDOCKER_PROGRAM", process.name()));
        use.process()
                .map(GpuUse.User::id)
                .or(() -> container.flatMap(RunningContainer::init))
                .ifPresent(id -> fields.put("JNVDOCKER_PID", String.valueOf(id.pid())));
        String held =
                status.lease()
                        .map(lease -> ", held by " + LeaseText.holder(lease) + ",")
                        .orElse("");
        String line = name(status.gpu()) + held + " " + LeaseText.used(use);
        return Event.of("unmanaged", now, line, fields);
    }
}
