package jnvdocker.keeper;

import java.io.IOException;

/** Watches overdue leases, once at a time, in place of a thread. */
public final class OverdueTicks {
    private OverdueTicks() {}

    /** Checks all leases, and has the holders of overdue ones stopped. */
    public static void tick(HolderStops stops) throws IOException {
        stops.tick(true);
    }
}
