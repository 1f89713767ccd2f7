package jnvdocker.grant;

import jnvdocker.posix.ProcessId;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Mounts that docker was granted though the registry could not be written: a container is started
 * again under the lease that it has, and nothing on disk tells of it.
 */
final class UnwrittenMounts {
    private final Evidence evidence;
    private final Map<String, ProcessId> engines = new ConcurrentHashMap<>();

    UnwrittenMounts(Evidence evidence) {
        this.evidence = evidence;
    }

    /**
     * @param engine that has mounted it
     */
    void add(String claim, ProcessId engine) {
        engines.put(claim, engine);
    }

    /** It runs, or was unmounted. */
    void remove(String claim) {
        engines.remove(claim);
    }

    /** Whether a start of it may be under way. */
    boolean has(String claim) {
        ProcessId engine = engines.get(claim);
        return engine != null && evidence.isAlive(engine);
    }
}
