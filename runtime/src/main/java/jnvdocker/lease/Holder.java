package jnvdocker.lease;

import jnvdocker.posix.ProcessId;

import java.util.List;
import java.util.Optional;

/**
 * The process or container that a lease depends on. The origin of the claim says of which kind it
 * is, and so what each part means.
 *
 * @param process that the lease depends on as long as nothing better is known: a client, the engine
 *     that has mounted the claim, our OCI runtime, the kubelet, or the program itself
 * @param init the first process of a container, once it is known
 * @param cgroup the directory of the cgroup that all of the holder is in, once it is known
 * @param details facts that only its kind can read, in an order of its own
 */
public record Holder(
        Stage stage,
        ProcessId process,
        Optional<ProcessId> init,
        Optional<String> cgroup,
        List<String> details) {

    /** How far a holder has come. */
    public enum Stage {
        /**
         * A client that requests its GPUs again before anything uses them, so that they can be
         * taken from it until then.
         */
        RESERVED,
        /** A container that has been given its GPUs, while its first process is not known yet. */
        CREATED,
        /** The GPUs may be in use. */
        HELD
    }

    public Holder {
        details = List.copyOf(details);
    }

    /** A client between the choice of its GPUs and their first use. */
    public static Holder reserved(ProcessId client) {
        return new Holder(Stage.RESERVED, client, Optional.empty(), Optional.empty(), List.of());
    }

    /** A holder that needs no more than a process and its cgroup to be known by. */
    public static Holder of(ProcessId process, String cgroup) {
        return of(process, Optional.empty(), Optional.of(cgroup));
    }

    /** A container that may run. */
    public static Holder of(ProcessId process, Optional<ProcessId> init, Optional<String> cgroup) {
        return new Holder(Stage.HELD, process, init, cgroup, List.of());
    }

    /** A container that is being created. */
    public static Holder created(ProcessId runtime) {
        return new Holder(Stage.CREATED, runtime, Optional.empty(), Optional.empty(), List.of());
    }

    /** A copy with the first process, which has become known. */
    public Holder startedAs(ProcessId first, Optional<String> itsCgroup) {
        return new Holder(Stage.HELD, process, Optional.of(first), itsCgroup, details);
    }

    /** A copy with other details. */
    public Holder with(List<String> others) {
        return new Holder(stage, process, init, cgroup, others);
    }
}
