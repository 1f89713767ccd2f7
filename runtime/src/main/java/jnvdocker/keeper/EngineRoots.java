package jnvdocker.keeper;

import jnvdocker.lease.Claim;
import jnvdocker.lease.Lease;
import jnvdocker.registry.LeaseRegistry;

import java.io.IOException;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The directories in which the real runtimes of the Docker engine that is queried keep its
 * containers. A container in another directory is another engine's, of which the queried one knows
 * nothing.
 */
final class EngineRoots {
    /** The end of such a directory, unless Docker is told otherwise. */
    private static final String DOCKERS = "/moby";

    private final LeaseRegistry registry;
    private final Set<String> known = ConcurrentHashMap.newKeySet();

    EngineRoots(LeaseRegistry registry) {
        this.registry = registry;
    }

    /** The engine has these containers, by their ids. */
    void learn(Set<String> containers) throws IOException {
        for (Lease lease : registry.live()) {
            Optional<String> id = lease.claim().container().map(Claim.ContainerRef::id);
            if (id.filter(containers::contains).isPresent()) {
                lease.claim().origin().runtimeRoot().ifPresent(this::add);
            }
        }
    }

    /** The engine has a container there. */
    void add(String root) {
        known.add(root);
    }

    /** Whether the engine has been seen to have a container there. */
    boolean has(String root) {
        return known.contains(root);
    }

    /** Whether the engine has containers there, as far as is known. */
    boolean mayBe(String root) {
        return has(root) || root.endsWith(DOCKERS);
    }
}
