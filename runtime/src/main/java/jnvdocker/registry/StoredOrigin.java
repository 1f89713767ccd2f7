package jnvdocker.registry;

import jnvdocker.lease.Origin;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/**
 * An origin as it is on disk, in the registry's columns and the keys of {@code claim.json}.
 *
 * @param engine of a container: its engine's id, or the real runtime's root; of a pod: its uid
 * @param image of a container or pod as far as it is known, the program, or the task's name
 */
record StoredOrigin(Kind kind, Optional<String> engine, Optional<String> image) {
    /** The name of such an origin in a row, in small letters. */
    enum Kind {
        ENGINE,
        PROCESS,
        MESOS,
        OCI,
        POD;

        /** Empty if it has none. */
        static Optional<Kind> of(String word) {
            return Arrays.stream(values()).filter(kind -> kind.word().equals(word)).findFirst();
        }

        String word() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    static StoredOrigin of(Origin origin) {
        return switch (origin) {
            case Origin.EngineContainer(String engine, Optional<String> image) ->
                    new StoredOrigin(Kind.ENGINE, Optional.of(engine), image);
            case Origin.HostProcess(String program) ->
                    new StoredOrigin(Kind.PROCESS, Optional.empty(), Optional.of(program));
            case Origin.MesosTask(String name) ->
                    new StoredOrigin(Kind.MESOS, Optional.empty(), Optional.of(name));
            case Origin.OciContainer(String root, Optional<String> image) ->
                    new StoredOrigin(Kind.OCI, Optional.of(root), image);
            case Origin.Pod(String uid, String namespace, String name) ->
                    new StoredOrigin(
                            Kind.POD,
                            Optional.of(uid),
                            Optional.of(namespace + "/" + name).filter(it -> !name.isEmpty()));
        };
    }

    /** Empty when there is not all that belongs to one of its kind. */
    Optional<Origin> origin() {
        return switch (kind) {
            case ENGINE -> engine.map(id -> new Origin.EngineContainer(id, image));
            case PROCESS -> image.map(Origin.HostProcess::new);
            case MESOS -> image.map(Origin.MesosTask::new);
            case OCI -> engine.map(root -> new Origin.OciContainer(root, image));
            case POD -> engine.map(this::pod);
        };
    }

    private Origin pod(String uid) {
        String[] name = image.orElse("/").split("/", 2);
        return name.length == 2
                ? new Origin.Pod(uid, name[0], name[1])
                : new Origin.Pod(uid, "", name[0]);
    }
}
