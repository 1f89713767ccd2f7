package jnvdocker.lease;

import jnvdocker.posix.ProcessId;
import jnvdocker.words.ForeignText;
import jnvdocker.words.Quote;

import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * The name of a holder of GPUs: how lists show it, and which words mean it. A word is the name of a
 * container, a program, a Mesos task or a pod, as {@code gpu leases} shows it in the column
 * CONTAINER, with or without the process's number; or the id of a container or claim, or at least
 * four characters of its beginning.
 */
public final class HolderName {
    /** The least beginning of an id: short names, such as {@code db}, are hexadecimal digits. */
    private static final int LEAST = 4;

    private static final String MORE = "…";

    private HolderName() {}

    /**
     * Returns the container's name, or its image in brackets as long as it has no name; or a
     * process of the host; a Mesos task; or a pod.
     */
    public static String shown(Lease lease) {
        Claim claim = lease.claim();
        return scheduled(claim.origin())
                .or(() ->
                        claim.origin()
                                .hostProgram()
                                .map(program -> process(program, lease.holder().process())))
                .orElseGet(() -> Quote.shown(claim.displayName()));
    }

    /**
     * What a scheduler starts: {@code Mesos task train} or {@code pod team-a/train-7}; empty for
     * other origins.
     */
    public static Optional<String> scheduled(Origin origin) {
        return switch (origin) {
            case Origin.MesosTask(String name) -> Optional.of("Mesos task " + Quote.shown(name));
            case Origin.Pod pod ->
                    Optional.of(
                            pod.equals(Origin.Pod.UNKNOWN)
                                    ? "a pod of Kubernetes"
                                    : "pod " + Quote.shown(pod.title()));
            case Origin.EngineContainer _, Origin.HostProcess _, Origin.OciContainer _ ->
                    Optional.empty();
        };
    }

    /** {@code python3 (pid 4711)}. */
    public static String process(String program, ProcessId process) {
        return Quote.shown(program) + " (pid " + process.pid() + ")";
    }

    /** The shortest name that means the holder of a claim: a container's, or a program's. */
    public static String typed(Claim claim) {
        return claim.origin().isMounted() ? claim.displayName() : claim.origin().title();
    }

    /**
     * Returns the leases whose holders a word means. Users choose names freely, so a name does not
     * take precedence over the beginning of another claim's id, but a claim's whole id does.
     */
    public static List<Lease> meant(String word, List<Lease> leases) {
        List<Lease> exact = matching(leases, lease -> lease.claim().id().equals(word));
        return exact.isEmpty() ? matching(leases, lease -> isOf(word, lease)) : exact;
    }

    private static List<Lease> matching(List<Lease> leases, Predicate<Lease> condition) {
        return leases.stream().filter(condition).toList();
    }

    /** Whether a word means the holder of a lease. */
    public static boolean isOf(String word, Lease lease) {
        return isName(word, shown(lease)) || isOf(word, lease.claim());
    }

    /** Whether a word means the container, program, task or pod of a claim, or the claim itself. */
    public static boolean isOf(String word, Claim claim) {
        return isId(word, claim.id())
                || claim.container().filter(its -> isId(word, its.id())).isPresent()
                || names(claim).anyMatch(name -> isName(word, name));
    }

    /** Whether a word means the container, program, task or pod that a client waits for. */
    public static boolean isWaiting(String word, Request request) {
        return names(request.origin(), request.container()).anyMatch(name -> isName(word, name));
    }

    private static Stream<String> names(Claim claim) {
        return names(claim.origin(), Optional.of(claim.displayName()));
    }

    private static Stream<String> names(Origin origin, Optional<String> container) {
        Stream<String> titles =
                switch (origin) {
                    case Origin.EngineContainer _, Origin.OciContainer _ -> Stream.of();
                    case Origin.HostProcess _, Origin.MesosTask _ -> Stream.of(origin.title());
                    case Origin.Pod pod -> Stream.of(pod.title(), pod.name());
                };
        return Stream.concat(container.stream(), titles);
    }

    /** Whether a word is an id, or enough of its beginning. */
    public static boolean isId(String word, String id) {
        return word.equals(id) || word.length() >= LEAST && id.startsWith(word);
    }

    /** Whether a word is a name, as it is or as lists show it, where a long one ends with …. */
    public static boolean isName(String word, String name) {
        if (word.isEmpty()) {
            return false;
        }
        String shown = Quote.shown(name);
        return word.equals(name)
                || word.equals(shown)
                || ForeignText.name(word).equals(name)
                || word.endsWith(MORE)
                        && word.length() > LEAST
                        && shown.startsWith(word.substring(0, word.length() - MORE.length()));
    }
}
