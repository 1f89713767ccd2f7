package jnvdocker.registry;

import jnvdocker.lease.Claim;
import jnvdocker.request.GpuRequest;

import java.io.IOException;
import java.time.Duration;
import java.util.Optional;

/**
 * What was requested by {@code jnvdocker run} for containers of our OCI runtime: each of their
 * starts depends on that, long after the claim's own reservation.
 */
public final class ClaimRequests {
    /** How exactly it is known when a claim was wanted last. */
    private static final Duration DAY = Duration.ofDays(1);

    private final RegistryDatabase database;
    private final ClaimStore claims;
    private final BootTime time;

    ClaimRequests(RegistryDatabase database, ClaimStore claims, BootTime time) {
        this.database = database;
        this.claims = claims;
        this.time = time;
    }

    /** Keeps the request of a claim that gets no lease, for as long as if one ended now. */
    public void made(Claim claim, GpuRequest request) throws IOException {
        database.transaction(transaction -> {
            LeaseRows.insertClaim(transaction, claim, Optional.of(request), Optional.empty());
            return transaction.update(
                    "UPDATE claim SET forgotten = ? WHERE id = ?",
                    time.now().toEpochMilli(),
                    claim.id());
        });
    }

    /**
     * A container starts with what was requested by a claim, which is kept from now on for as long
     * as a lease that ends now.
     *
     * @param container the one that has the claim, with its present name
     */
    public void wanted(String claim, Claim.ContainerRef container) throws IOException {
        long now = time.now().toEpochMilli();
        claims.named(claim, container);
        database.transaction(transaction ->
                transaction.update(
                        "UPDATE claim SET forgotten = ? WHERE id = ? AND forgotten < ?",
                        now,
                        claim,
                        now - DAY.toMillis()));
    }

    /**
     * A container was removed: what was requested for it counts for one that is made with its
     * settings.
     */
    public void removed(String container) throws IOException {
        database.transaction(transaction ->
                transaction.update(
                        "UPDATE claim SET container = NULL WHERE container = ?"
                                + " AND request IS NOT NULL AND forgotten IS NOT NULL"
                                // The claims of its starts name it, for the history.
                                + " AND NOT EXISTS (SELECT 1 FROM lease"
                                + " WHERE lease.claim = claim.id AND holder <> 'reserved')",
                        container));
    }
}
