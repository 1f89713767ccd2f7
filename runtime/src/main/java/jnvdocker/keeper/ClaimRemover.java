package jnvdocker.keeper;

import jnvdocker.holder.Evidence;
import jnvdocker.registry.ClaimFiles;
import jnvdocker.registry.LeaseRegistry;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Map;

/** Removes claims of which nothing is left. A mounted claim is never removed. */
public final class ClaimRemover {
    private final LeaseRegistry registry;
    private final ClaimFiles files;
    private final Evidence evidence;

    public ClaimRemover(LeaseRegistry registry, ClaimFiles files, Evidence evidence) {
        this.registry = registry;
        this.files = files;
        this.evidence = evidence;
    }

    /**
     * The evidence that keeps claims, with or without leases, by the claims' ids: {@code a process
     * (pid 4711) has it mounted}. All of it is found by one scan.
     *
     * @throws IOException when that cannot be determined
     */
    public Map<String, String> mounted() throws IOException {
        try {
            Map<String, String> mounted = new HashMap<>();
            evidence.containers()
                    .forEach((claim, processes) ->
                            mounted.put(
                                    claim,
                                    "a process (pid "
                                            + processes.getFirst().pid()
                                            + ") has it mounted"));
            return mounted;
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    /**
     * Forgets a claim, and deletes what it has on disk, unless it is mounted.
     *
     * @return whether it is gone
     */
    public boolean remove(String claim) throws IOException {
        if (mounted().containsKey(claim)) {
            return false;
        }
        registry.claims().forget(claim);
        files.delete(claim);
        return true;
    }
}
