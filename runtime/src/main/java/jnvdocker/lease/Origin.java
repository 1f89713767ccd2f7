package jnvdocker.lease;

import jnvdocker.words.ForeignText;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * The owner of a claim: a container, and of which engine; a process; a Mesos task; or a pod. What
 * is so of all of a kind is in the table {@link Kind}; what has words of its own for each kind is a
 * switch without a default, so that the compiler names all of them when there is a new one.
 */
public sealed interface Origin {

    /**
     * A container of the engine that the daemon queries, or queried when the claim was made. It
     * mounts a volume of the claim whenever it is started.
     *
     * @param engine the engine's own id, since a container means nothing to another engine
     * @param image empty for a claim that was lost, and is known again from a container that has it
     */
    record EngineContainer(String engine, Optional<String> image) implements Origin {
        public EngineContainer {
            engine = ForeignText.cut(engine, ForeignText.PATH);
            image = ForeignText.name(image);
        }
    }

    /** A process of the host, which {@code jnvdocker gpu run} has become. */
    record HostProcess(String program) implements Origin {
        public HostProcess {
            program = ForeignText.name(program);
        }
    }

    /** A container of a Mesos agent. */
    record MesosTask(String name) implements Origin {
        public MesosTask {
            name = ForeignText.name(name);
        }
    }

    /**
     * A container that an engine, whichever, has had our OCI runtime create.
     *
     * @param root the directory in which the real runtime keeps its containers, as the engine names
     *     it: a container's id means nothing in another; empty when the engine names none, or has
     *     not been queried yet
     */
    record OciContainer(String root, Optional<String> image) implements Origin {
        public OciContainer {
            root = ForeignText.cut(root, ForeignText.PATH);
            image = ForeignText.name(image);
        }
    }

    /**
     * A pod of Kubernetes, or what a kubelet has reserved GPUs for: it does not say which pod.
     *
     * @param uid empty as long as it is not known, as are the other two
     */
    record Pod(String uid, String namespace, String name) implements Origin {
        /** A pod that the kubelet has not reported. */
        public static final Pod UNKNOWN = new Pod("", "", "");

        public Pod {
            uid = ForeignText.name(uid);
            namespace = ForeignText.name(namespace);
            name = ForeignText.name(name);
        }

        /** The owner is the pod's namespace. */
        @Override
        public Owner owner() {
            return Owner.ofNamespace(namespace);
        }

        /** {@code team-a/train-7}, its uid when it has no name yet, or {@code ?}. */
        String display() {
            if (!name.isEmpty()) {
                return namespace + "/" + name;
            }
            return uid.isEmpty() ? "?" : uid;
        }
    }

    /** The kinds of origins, each with all that is so of every one of them. */
    enum Kind {
        ENGINE(Trait.VOLUME, Trait.MOUNTED),
        PROCESS,
        MESOS(Trait.SCHEDULED, Trait.REVOCABLE),
        OCI(Trait.MOUNTED),
        POD(Trait.SCHEDULED, Trait.REQUESTED_AGAIN);

        @SuppressWarnings("ImmutableEnumChecker") // Set.of makes one that is.
        private final Set<Trait> traits;

        Kind(Trait... traits) {
            this.traits = Set.of(traits);
        }

        /** The kind in small letters, which names it in the registry and in {@code claim.json}. */
        public String word() {
            return name().toLowerCase(Locale.ROOT);
        }

        /** Empty if no kind has this word. */
        public static Optional<Kind> of(String word) {
            return Arrays.stream(values()).filter(kind -> kind.word().equals(word)).findFirst();
        }
    }

    /** Properties that some kinds have. */
    enum Trait {
        /** Docker has a volume of the claim, which lives as long as its container. */
        VOLUME,
        /** A directory of the claim is mounted in the container, as evidence of its holder. */
        MOUNTED,
        /** A scheduler starts and ends it, and not a user by hand. */
        SCHEDULED,
        /** Its scheduler requests the GPUs repeatedly, and has them from one of the requests on. */
        REQUESTED_AGAIN,
        /** Its processes can open its GPUs no longer once its lease has ended, while they run. */
        REVOCABLE
    }

    default Kind kind() {
        return switch (this) {
            case EngineContainer _ -> Kind.ENGINE;
            case HostProcess _ -> Kind.PROCESS;
            case MesosTask _ -> Kind.MESOS;
            case OciContainer _ -> Kind.OCI;
            case Pod _ -> Kind.POD;
        };
    }

    /** The owner, as far as the origin shows it. */
    default Owner owner() {
        return Owner.UNKNOWN;
    }

    /** Whether it is a container of this engine's. */
    default boolean isOf(String engine) {
        return engineId().filter(engine::equals).isPresent();
    }

    /** The directory in which a real runtime keeps the container; empty for other origins. */
    default Optional<String> runtimeRoot() {
        return this instanceof OciContainer oci ? Optional.of(oci.root()) : Optional.empty();
    }

    /** Whether a real runtime keeps the container in this directory. */
    default boolean isBelow(String root) {
        return runtimeRoot().filter(root::equals).isPresent();
    }

    /** Whether docker has a volume of the claim, which lives as long as its container. */
    default boolean isKnownToDocker() {
        return kind().traits.contains(Trait.VOLUME);
    }

    /**
     * Whether it does not start again, or has another claim when it does, so that this one is over
     * when its one lease is.
     */
    default boolean isOverWithItsLease() {
        return !kind().traits.contains(Trait.VOLUME);
    }

    /** Whether a directory of the claim is mounted in its container, as evidence of its holder. */
    default boolean isMounted() {
        return kind().traits.contains(Trait.MOUNTED);
    }

    /**
     * Whether a scheduler requests the GPUs again and again, and has them only from one of its
     * requests on.
     */
    default boolean isRequestedAgain() {
        return kind().traits.contains(Trait.REQUESTED_AGAIN);
    }

    /** Whether a scheduler starts and ends it, and not a user by hand. */
    default boolean isScheduled() {
        return kind().traits.contains(Trait.SCHEDULED);
    }

    /** Whether its processes can open its GPUs no longer once its lease has ended. */
    default boolean isRevocable() {
        return kind().traits.contains(Trait.REVOCABLE);
    }

    /** The id of the engine of a container with a volume of its claim; empty for other origins. */
    default Optional<String> engineId() {
        return this instanceof EngineContainer its ? Optional.of(its.engine()) : Optional.empty();
    }

    /** The image of a container, as far as it is known; empty for other origins. */
    default Optional<String> image() {
        return Optional.empty();
    }

    /** The program of a process of the host; empty for other origins. */
    default Optional<String> hostProgram() {
        return this instanceof HostProcess its ? Optional.of(its.program()) : Optional.empty();
    }

    /** The name of a Mesos task; empty for other origins. */
    default Optional<String> task() {
        return this instanceof MesosTask its ? Optional.of(its.name()) : Optional.empty();
    }

    /** The pod; empty for other origins. */
    default Optional<Pod> pod() {
        return this instanceof Pod its ? Optional.of(its) : Optional.empty();
    }

    /** Its image, {@code ?} when that is not known; its program; the task's or the pod's name. */
    default String title() {
        return switch (this) {
            case EngineContainer _, OciContainer _ -> image().orElse("?");
            case HostProcess(String program) -> program;
            case MesosTask(String name) -> name;
            case Pod pod -> pod.display();
        };
    }
}
