package jnvdocker.registry;

import jnvdocker.lease.Origin;

import java.util.Optional;

/**
 * An origin as it is on disk, in the registry's columns and the keys of {@code claim.json}.
 *
 * @param engine of a container: its engine's id, or the real runtime's root; of a pod: its uid
 * @param image of a container or pod as far as it is known, the program, or the task's name
 */
record StoredOrigin(Origin.Kind kind, Optional<String> engine, Optional<String> image) {
    static StoredOrigin of(Origin origin) {
        Optional<String> engine =
                switch (origin) {
                    case Origin.EngineContainer(String id, _) -> Optional.of(id);
                    case Origin.OciContainer(String root, _) -> Optional.of(root);
                    case Origin.Pod pod -> Optional.of(pod.uid());
                    case Origin.HostProcess _, Origin.MesosTask _ -> Optional.empty();
                };
        Optional<String> image =
                switch (origin) {
                    case Origin.EngineContainer _, Origin.OciContainer _ -> origin.image();
                    case Origin.Pod(_, String namespace, String name) ->
                            Optional.of(namespace + "/" + name).filter(_ -> !name.isEmpty());
                    case Origin.HostProcess _, Origin.MesosTask _ -> Optional.of(origin.title());
                };
        return new StoredOrigin(origin.kind(), engine, image);
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
