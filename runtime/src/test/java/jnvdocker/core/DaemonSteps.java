package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.core.SimulatedContainer.State;
import jnvdocker.lease.Lease;
import jnvdocker.recovery.Reconciler;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** The steps that a simulated world's daemon takes, by itself or on request, and its accidents. */
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

    /** Starts the containers that were refused when the engine began. */
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
            // While a restart is under way, the state changes as time passes.
            return false;
        }
        world.course.calm();
        Reconciler reconciler = world.daemon.parts().reconciler();
        // While one container makes the daemon wait, each round queries the others once.
        boolean slow = world.engine().containers.stream().anyMatch(SimulatedContainer::isLocked);
        for (int i = 0; i < (slow ? 6 : 2); i++) {
            if (!world.daemon.perform("reconcile", reconciler::reconcile)) {
                return true;
            }
            // Everything that only waits for time to pass is over then.
            world.machine.pass(Duration.ofSeconds(11));
        }
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
        List<Lease> live = releasable();
        if (live.isEmpty()) {
            return false;
        }
        Lease lease = live.get(index % live.size());
        String claim = lease.claim().id();
        world.say("release " + claim + (force ? " by force" : ""));
        if (force) {
            forced(claim);
            return world.daemon.perform(
                    "release",
                    () -> world.daemon.parts().leases().releases().byForce(claim, "root"));
        }
        return world.daemon.perform(
                "release", () -> world.daemon.parts().leases().releases().ifGone(claim));
    }

    /** The leases of a feature end with its holders. */
    private List<Lease> releasable() throws IOException {
        return world.daemon.parts().registry().live().stream()
                .filter(lease -> !world.feature().owns(lease))
                .toList();
    }

    /** A user releases a lease of their own by force: a container that runs keeps its lease. */
    boolean releaseOwn(int index) throws IOException {
        if (!world.daemon.isUp()) {
            return false;
        }
        List<Lease> live = releasable();
        if (live.isEmpty()) {
            return false;
        }
        String claim = live.get(index % live.size()).claim().id();
        world.say("release one's own " + claim + " by force");
        return world.daemon.perform(
                "release",
                () -> {
                    world.daemon.parts().leases().releases().unused(claim, "its user");
                    released(claim);
                });
    }

    /** A start that is under way sends its request again, and may be refused. */
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
        world.runtime.released(claim);
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
        if (world.machine.hidesAny() || isAnyReleased() || isAnyUntold()) {
            // Only the registry knew of it.
            return false;
        }
        finishStarts();
        kill();
        world.disk.loseRegistry(damage);
        world.runtime.loseRegistry();
        world.lab.forget();
        world.forgetLeases();
        return true;
    }

    /** Whether any container uses GPUs that were released by force, or is about to. */
    private boolean isAnyReleased() {
        return world.allContainers().stream()
                .filter(container -> container.released)
                .anyMatch(container ->
                        container.lives(world.machine)
                                || container.state == SimulatedContainer.State.STARTING);
    }

    /** Whether only the registry knows of a container of our runtime, or of a feature's holder. */
    private boolean isAnyUntold() {
        return world.runtime.isAnyUntold() || world.feature().isAnyUntold();
    }

    boolean backUp() throws IOException {
        world.disk.backUp();
        return true;
    }

    /** Puts back a copy of the registry, made in this boot or in an earlier one. */
    boolean restoreBackup() throws IOException {
        if (!world.disk.hasBackup()
                || world.machine.hidesAny()
                || isAnyReleased()
                || isAnyUntold()) {
            return false;
        }
        finishStarts();
        kill();
        world.disk.restoreBackup();
        world.lab.readNames();
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
        if (anyUntold
                || world.machine.hidesAny()
                || isAnyReleased()
                || world.runtime.isAnyUnseen()
                || world.feature().isAnyUntold()) {
            // No engine that answers could report it.
            return false;
        }
        finishStarts();
        kill();
        world.disk.clear();
        world.runtime.lose();
        world.lab.forget();
        world.forgetLeases();
        world.allContainers()
                .forEach(container -> container.claim().ifPresent(world.unknownClaims::add));
        return true;
    }

    /**
     * Finishes starts that are under way: only the state that is about to be lost knows of them.
     */
    private void finishStarts() {
        for (SimulatedContainer container : world.allContainers()) {
            if (container.state == State.STARTING) {
                world.engine().finishStart(container, false);
            }
        }
    }
}
