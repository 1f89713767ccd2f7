package jnvdocker.idle;

import jnvdocker.core.LeaseParts;
import jnvdocker.holder.Pace;
import jnvdocker.holder.PresentGpus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Rule;
import jnvdocker.registry.HostClock;
import jnvdocker.use.GpuUses;

import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/** Watches idle holders, one sample at a time, in place of a thread. */
public final class IdleTicks {
    private final IdleKeeper keeper;

    private IdleTicks(IdleKeeper keeper) {
        this.keeper = keeper;
    }

    /** A keeper that has sampled nothing yet, and has holders stopped by that action at once. */
    public static IdleTicks of(
            LeaseParts parts,
            PresentGpus gpus,
            GpuUses uses,
            HostClock clock,
            Consumer<Lease> stop) {
        return new IdleTicks(
                new IdleKeeper(
                        parts.registry(),
                        gpus,
                        new IdleSampler(uses, Map::of, parts.unmanagedScan()::isOf),
                        Optional::empty,
                        new IdleKeeper.Stops() {
                            @Override
                            public Optional<Rule<Duration>> longest(Owner owner) {
                                return parts.supply().longestIdle(owner);
                            }

                            @Override
                            public void stop(Lease lease, String why) {
                                stop.accept(lease);
                            }
                        },
                        (_, _, _, _) -> {},
                        clock,
                        Pace.REAL));
    }

    /** Takes a sample. */
    public void tick() throws IOException {
        keeper.tick();
    }

    /** Returns what is known of idle holders. */
    public IdleHolders holders() {
        return keeper;
    }
}
