package jnvdocker.core;

import jnvdocker.holder.Pace;
import jnvdocker.registry.Changes;

import java.time.Duration;

/** Time that stands still for whoever measures it: nothing is due some time later. */
final class StillPace implements Pace {
    @Override
    public long nanos() {
        return 0;
    }

    @Override
    public void later(Duration delay, Runnable task) {
        REAL.later(delay, task);
    }

    @Override
    public void sleep(Duration duration) {
        REAL.sleep(duration);
    }

    @Override
    public void sleep(Duration longest, Changes changes, long seen) {
        REAL.sleep(longest, changes, seen);
    }
}
