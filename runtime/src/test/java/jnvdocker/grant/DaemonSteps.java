package jnvdocker.grant;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.grant.SimulatedContainer.State;
import jnvdocker.lease.Lease;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** What the daemon of a simulated world does by itself or is asked for, and what befalls it. */
final class DaemonSteps {
    private final SimulatedWorld world;

    DaemonSteps(SimulatedWorld world) {
        this.world = world;
    }

    boolean watch() throws IOException {
        if (!world.daemon.isUp() || world.daemon.isWatching() || !world.engine().serves()) {
            return false;
        }
        world.daemon.watch();
        return true;
    }

    boolean sweep() throws IOException {
        return world.daemon.perform("sweep", () -> world.daemon.parts().reconciler().sweep());
    }

    /** Starts what was refused when the engine began. */
    boolean startRefused() throws IOException {
        boolean calm = world.course.isUndisturbed();
        world.check.mayStart(calm);
        return world.daemon.perform(
                "start refused", () -> world.daemon.parts().refusedStarts().review());
    }

    boolean reconcileTwice() throws IOException {
        if (!world.daemon.isUp()
                || !world.engine().serves()
                || world.engine().mood != SimulatedEngine.Mood.WELL
                || world.engine().containers.stream().anyMatch(it -> it.restarted.isPresent())) {
            // While a restart is under way, time alone changes what is known.
            return false;
        }
        world.course.calm();
        Reconciler reconciler = world.daemon.parts().reconciler();
        // While one container has the daemon wait, it gets to ask after others once each time.
        boolean slow = world.engine().containers.stream().anyMatch(SimulatedContainer::isLocked);
        for (int i = 0; i < (slow ? 6 : 2); i++) {
            if (!world.daemon.perform("reconcile", reconciler::reconcile)) {
                return true;
            }
            // What waits for nothing but time has had it.
            world.machine.pass(Duration.ofSeconds(11));
        }
        world.learnt();
        String once = world.check.dump();
        if (world.daemon.perform("reconcile", reconciler::reconcile)) {
            assertEquals(once, world.check.dump(), "reconciled again");
        }
        return true;
    }

    boolean release(int index, boolean force) throws IOException {
        if (!world.daemon.isUp()) {
            return false;
        }
        List<Lease> live = world.daemon.parts().registry().live();
        if (live.isEmpty()) {
            return false;
        }
        Lease lease = live.get(index % live.size());
        String claim = lease.claim().id();
        world.say("release " + claim + (force ? " by force" : ""));
        if (force) {
            forced(claim);
            return world.daemon.perform(
                    "release", () -> world.daemon.parts().leases().releaseByForce(claim, "root"));
        }
        return world.daemon.perform("release", () -> world.daemon.parts().leases().release(claim));
    }

    /** The user whose it is releases it by force: what runs goes on to be his. */
    boolean releaseOwn(int index) throws IOException {
        if (!world.daemon.isUp()) {
            return false;
        }
        List<Lease> live = world.daemon.parts().registry().live();
        if (live.isEmpty()) {
            return false;
        }
        String claim = live.get(index % live.size()).claim().id();
        world.say("release one's own " + claim + " by force");
        return world.daemon.perform(
                "release",
                () -> {
                    world.daemon.parts().leases().releaseUnused(claim, "its user");
                    released(claim);
                });
    }

    /** A start that is under way will ask anew, and may be refused. */
    private void released(String claim) {
        for (SimulatedContainer container : world.allContainers()) {
            if (container.claim().equals(Optional.of(claim))) {
                container.troubled = true;
            }
        }
        world.clients.end(claim);
    }

    private void forced(String claim) {
        for (SimulatedContainer container : world.allContainers()) {
            if (container.claim().equals(Optional.of(claim))) {
                container.released = true;
                container.troubled = true;
            }
        }
        world.clients.end(claim);
    }

    boolean kill() throws IOException {
        if (!world.daemon.isUp()) {
            return false;
        }
        world.daemon.kill();
        return true;
    }

    boolean start() throws IOException {
        if (world.daemon.isUp() || world.daemon.isBusy()) {
            return false;
        }
        world.daemon.start();
        return true;
    }

    boolean loseRegistry(boolean damage) throws IOException {
        if (world.machine.hidesAny() || isAnyReleased()) {
            // The registry alone knew of it.
            return false;
        }
        finishStarts();
        kill();
        world.disk.loseRegistry(damage);
        world.lab.forget();
        world.forgetLeases();
        return true;
    }

    /** Whether anybody uses GPUs, or is about to, that were released by force. */
    private boolean isAnyReleased() {
        return world.allContainers().stream()
                .filter(container -> container.released)
                .anyMatch(container ->
                        container.lives(world.machine)
                                || container.state == SimulatedContainer.State.STARTING);
    }

    boolean backUp() throws IOException {
        world.disk.backUp();
        return true;
    }

    /** The registry is what it was when somebody copied it, in the same boot or in one before. */
    boolean restoreBackup() throws IOException {
        if (!world.disk.hasBackup() || world.machine.hidesAny() || isAnyReleased()) {
            return false;
        }
        finishStarts();
        kill();
        world.disk.restoreBackup();
        world.lab.lookUp();
        world.forgetLeases();
        start();
        if (world.daemon.isUp()) {
            world.waiters.rollBack(world.daemon.parts().registry().tickets());
        }
        return true;
    }

    boolean loseState() throws IOException {
        boolean anyUntold =
                world.allContainers().stream()
                        .filter(container -> container.lives(world.machine))
                        .anyMatch(it ->
                                !world.engine().containers.contains(it)
                                        || it.outlives(world.machine));
        if (anyUntold || world.machine.hidesAny() || isAnyReleased()) {
            // No engine that answers could tell of it.
            return false;
        }
        finishStarts();
        kill();
        world.disk.clear();
        world.lab.forget();
        world.forgetLeases();
        world.allContainers()
                .forEach(container -> container.claim().ifPresent(world.unknownClaims::add));
        return true;
    }

    /** Of a start that is under way just then, nothing but what is lost would tell. */
    private void finishStarts() {
        for (SimulatedContainer container : world.allContainers()) {
            if (container.state == State.STARTING) {
                world.engine().finishStart(container, false);
            }
        }
    }
}
