package jnvdocker.keeper;

import jnvdocker.holder.Evidence;
import jnvdocker.registry.ClaimFiles;
import jnvdocker.registry.LeaseRegistry;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Optional;
import java.util.Set;

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
     * The evidence that keeps a claim, with or without a lease: {@code a process (pid 4711) has it
     * mounted}.
     *
     * @throws IOException when that cannot be determined
     */
    public Optional<String> mounted(String claim) throws IOException {
        try {
            return evidence.containers().getOrDefault(claim, List.of()).stream()
                    .findFirst()
                    .map(process -> "a process (pid " + process.pid() + ") has it mounted");
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    /**
     * The claims that processes have mounted, by one scan.
     *
     * @throws IOException when that cannot be determined
     */
    public Set<String> mounted() throws IOException {
        try {
            return evidence.containers().keySet();
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
        if (mounted(claim).isPresent()) {
            return false;
        }
        registry.claims().forget(claim);
        files.delete(claim);
        return true;
    }
}
