package jnvdocker.kubernetes;

import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;

import java.time.Duration;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The last answer of the kubelet, and which leases it speaks of. */
final class PodSights {
    /**
     * Between the plugin's answer and the kubelet's own note of it: a list that was begun later
     * than that has every pod that was admitted.
     */
    private static final Duration MARGIN = Duration.ofSeconds(5);

    private volatile Optional<Answer> last = Optional.empty();
    private volatile boolean stopped;

    /**
     * The uids of resource claims that the kubelet has given back, while leases depend on them,
     * with the uids of the pods that the kubelet let use each at that time.
     */
    private final Map<String, Set<String>> givenBack = new ConcurrentHashMap<>();

    /** The uids of the pods of each resource claim, by the kubelet's file when it was last read. */
    private volatile Map<String, Set<String>> users = Map.of();

    /**
     * @param begun when the kubelet was queried
     * @param listed by UUID, the pods that have a GPU in a container
     * @param remembered likewise those of the kubelet's own file, which may be gone
     */
    record Answer(
            PodReport.Sight begun,
            Map<String, Set<Origin.Pod>> listed,
            Map<String, Set<Origin.Pod>> remembered) {
        Answer {
            listed = Map.copyOf(listed);
            remembered = Map.copyOf(remembered);
        }
    }

    /** The state of a lease by the last answer. */
    enum Listed {
        YES,
        NO,
        /** There has been no answer since the lease began. */
        UNKNOWN
    }

    void update(Answer answer) {
        last = Optional.of(answer);
    }

    /**
     * The kubelet has given back a resource claim: it starts nothing more with its GPUs.
     *
     * @param users the uids of the pods that the kubelet has let use the claim
     */
    void giveBack(String claim, Set<String> users) {
        givenBack.put(claim, users);
    }

    /** The uids of the pods of each resource claim, as the kubelet's file has them now. */
    void know(Map<String, Set<String>> claims) {
        users = claims;
    }

    /** The uids of the pods that have a resource claim, as far as the kubelet's file was read. */
    Set<String> users(String claim) {
        Set<String> all = new HashSet<>(users.getOrDefault(claim, Set.of()));
        all.addAll(givenBack.getOrDefault(claim, Set.of()));
        return all;
    }

    /** The kubelet has a resource claim, or nothing depends on it any more. */
    void forgetGivenBack(String claim) {
        givenBack.remove(claim);
    }

    boolean isGivenBack(String claim) {
        return givenBack.containsKey(claim);
    }

    /** A kubelet is queried from now on. */
    void start() {
        stopped = false;
    }

    /** No kubelet lists anything any more. */
    void stop() {
        stopped = true;
    }

    boolean isStopped() {
        return stopped;
    }

    /** Whether the kubelet says that a pod has the GPUs of its lease. */
    Listed listed(Lease lease, Origin.Pod pod) {
        return listed(lease, _ -> true, other -> mayBe(pod, other));
    }

    /** Whether the kubelet has given reserved GPUs to any pod. */
    Listed given(Lease reservation) {
        return listed(
                reservation,
                answer -> !answer.begun().time().minus(MARGIN).isBefore(reservation.since()),
                _ -> true);
    }

    private Listed listed(Lease lease, Predicate<Answer> counts, Predicate<Origin.Pod> its) {
        if (stopped) {
            return Listed.NO;
        }
        return last.filter(answer -> answer.begun().newest() >= lease.id())
                .filter(counts)
                .map(answer -> pods(answer.listed(), lease).anyMatch(its))
                .map(listed -> listed ? Listed.YES : Listed.NO)
                .orElse(Listed.UNKNOWN);
    }

    /** The pods for which the kubelet remembers GPUs that are reserved. */
    Set<Origin.Pod> remembered(Lease reservation) {
        return last.map(answer ->
                        pods(answer.remembered(), reservation).collect(Collectors.toSet()))
                .orElse(Set.of());
    }

    static Stream<Origin.Pod> pods(Map<String, Set<Origin.Pod>> all, Lease lease) {
        return lease.claim().gpus().stream()
                .map(ClaimedGpu::uuid)
                .flatMap(uuid -> all.getOrDefault(uuid, Set.of()).stream());
    }

    /** Whether two may be the same, as far as each is known. */
    static boolean mayBe(Origin.Pod one, Origin.Pod other) {
        if (!one.uid().isEmpty() && !other.uid().isEmpty()) {
            return one.uid().equals(other.uid());
        }
        boolean named = !one.name().isEmpty() && !other.name().isEmpty();
        return !named
                || one.name().equals(other.name()) && one.namespace().equals(other.namespace());
    }

    /**
     * All that is known of a pod.
     *
     * @param before what was known, perhaps of another one
     */
    static Origin.Pod known(Origin.Pod reported, Origin.Pod before) {
        if (!mayBe(reported, before)) {
            return reported;
        }
        Origin.Pod named = reported.name().isEmpty() ? before : reported;
        return new Origin.Pod(
                reported.uid().isEmpty() ? before.uid() : reported.uid(),
                named.namespace(),
                named.name());
    }
}
