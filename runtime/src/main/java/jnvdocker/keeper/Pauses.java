package jnvdocker.keeper;

import jnvdocker.holder.Evidence;
import jnvdocker.holder.Memory;
import jnvdocker.holder.Pace;
import jnvdocker.lease.Lease;
import jnvdocker.posix.ProcessId;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * How long an engine that cannot be queried pauses between the end of a container and its next
 * start, as our OCI runtime sees both. A pause begins when the container is deleted, by a process
 * that may start it again meanwhile, and is measured in the time that the machine leaves to the
 * engine.
 */
final class Pauses {
    /** An engine of which nothing is known takes some 10 ms on an idle machine. */
    private static final Duration LEAST = Duration.ofMillis(250);

    /** A longer pause is no restart, but an end and a user's start. */
    private static final Duration LONGEST = Duration.ofSeconds(2);

    /** How long a command that has deleted a container may take to start it again. */
    private static final Duration LONGEST_COMMAND = Duration.ofMinutes(1);

    /** How long it stands that podman has yet to decide about a container. */
    private static final Duration SCAN = Duration.ofMillis(500);

    /** An engine may take that many times as long as it has taken. */
    private static final int FACTOR = 2;

    /** How many of an engine's last pauses count. */
    private static final int LAST = 8;

    /** How many engines, and how many containers that have ended, are remembered. */
    private static final int ENGINES = 64;

    private static final int ENDS = 1024;

    private final Evidence evidence;
    private final Pace pace;
    private final Map<String, Deque<Duration>> seen = new Recent<>(ENGINES);
    private final Map<Container, End> ends = new Recent<>(ENDS);

    Pauses(Evidence evidence, Pace pace) {
        this.evidence = evidence;
        this.pace = pace;
    }

    /** A map that forgets its oldest entry when there are too many. */
    private static final class Recent<K, V> extends LinkedHashMap<K, V> {
        private static final long serialVersionUID = 1;
        private final int most;

        Recent(int most) {
            this.most = most;
        }

        @Override
        protected boolean removeEldestEntry(Map.Entry<K, V> eldest) {
            return size() > most;
        }
    }

    /**
     * @param root the directory in which the real runtime keeps its containers: that of an engine
     */
    private record Container(String root, String id) {}

    /**
     * The end of a container.
     *
     * @param claim of the start that has ended
     * @param moment when the deletion had ended
     * @param deletion when that was seen
     */
    private record End(String claim, Pace.Moment moment, Optional<Deletion> deletion) {}

    /**
     * @param process the runtime, or the command that has called it
     */
    private record Deletion(ProcessId process, Pace.Moment begun) {}

    private static Optional<Container> container(Lease lease) {
        Optional<String> root = lease.claim().origin().runtimeRoot();
        return root.flatMap(directory ->
                lease.claim().container().map(it -> new Container(directory, it.id())));
    }

    /**
     * An engine has begun to delete the container of a lease.
     *
     * @param process the runtime, or the command that has called it
     */
    synchronized void deleted(Lease lease, ProcessId process) {
        Pace.Moment now = pace.moment();
        container(lease)
                .ifPresent(it ->
                        ends.put(it, end(lease, now, Optional.of(new Deletion(process, now)))));
    }

    private static End end(Lease lease, Pace.Moment moment, Optional<Deletion> deletion) {
        return new End(lease.claim().id(), moment, deletion);
    }

    /** A command may go on after the deletion, with other containers. */
    private boolean isUnderWay(Deletion deletion) {
        return evidence.isAlive(deletion.process()) && isWithin(LONGEST_COMMAND, deletion.begun());
    }

    /** An engine has created the container of a lease, and had perhaps ended it before. */
    synchronized void created(Lease lease) {
        Optional<Container> container = container(lease);
        Optional<End> last = container.map(ends::remove);
        if (last.isEmpty() || last.get().claim().equals(lease.claim().id())) {
            return;
        }
        Duration pause = pace.calm(last.get().moment());
        if (pause.compareTo(LONGEST) <= 0) {
            Deque<Duration> pauses =
                    seen.computeIfAbsent(container.get().root(), _ -> new ArrayDeque<>());
            pauses.addLast(pause);
            if (pauses.size() > LAST) {
                pauses.removeFirst();
            }
        }
    }

    /**
     * Whether an engine would have created the container of a lease again by now.
     *
     * @param begun when it was first seen that nothing of the container runs
     */
    boolean isOver(Lease lease, Pace.Moment begun) {
        return isPast(lease, begun) && (!isWithin(LONGEST_COMMAND, begun) || !isMonitored(lease));
    }

    /** As the clock on the wall has it. */
    private boolean isWithin(Duration limit, Pace.Moment begun) {
        return pace.nanos() - begun.nanos() < limit.toNanos();
    }

    /** All processes are scanned for that, so an answer stands for a while. */
    private boolean isMonitored(Lease lease) {
        Memory memory = evidence.memory(lease);
        if (memory.monitored().filter(it -> isWithin(SCAN, it)).isPresent()) {
            return true;
        }
        boolean is =
                lease.claim().container().filter(it -> evidence.isMonitored(it.id())).isPresent();
        memory.monitored(is ? Optional.of(pace.moment()) : Optional.empty());
        return is;
    }

    private synchronized boolean isPast(Lease lease, Pace.Moment begun) {
        Optional<Container> container = container(lease);
        if (container.isEmpty()) {
            return true;
        }
        End end =
                Optional.ofNullable(ends.get(container.get()))
                        .filter(it -> it.claim().equals(lease.claim().id()))
                        .orElseGet(() -> end(lease, begun, Optional.empty()));
        boolean underWay = end.deletion().filter(this::isUnderWay).isPresent();
        ends.put(container.get(), underWay ? end(lease, pace.moment(), end.deletion()) : end);
        return !underWay && pace.calm(end.moment()).compareTo(longest(container.get().root())) >= 0;
    }

    private Duration longest(String root) {
        Duration known =
                seen.getOrDefault(root, new ArrayDeque<>()).stream()
                        .max(Duration::compareTo)
                        .map(pause -> pause.multipliedBy(FACTOR))
                        .orElse(LEAST);
        return known.compareTo(LEAST) > 0 ? known : LEAST;
    }
}
