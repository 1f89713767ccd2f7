package jnvdocker.core;

import jnvdocker.core.SimulatedContainer.State;

import java.io.IOException;
import java.time.Duration;
import java.util.Optional;

/** The accidents of a simulated world's host and of the engine that answers on it. */
final class HostSteps {
    private final SimulatedWorld world;

    HostSteps(SimulatedWorld world) {
        this.world = world;
    }

    boolean wait(Duration duration) {
        world.machine.pass(duration);
        return true;
    }

    boolean setClock(Duration forth) {
        world.machine.setClock(forth);
        return true;
    }

    boolean writeToDisk() throws IOException {
        world.disk.reach();
        return true;
    }

    /**
     * @param powerLoss whether the registry falls back to an earlier state
     * @param recabled whether the GPUs get other minors
     * @param daemonFirst whether the daemon is up before the engine, as our units have it
     */
    boolean reboot(boolean powerLoss, boolean recabled, boolean daemonFirst) throws IOException {
        world.daemonSteps.kill();
        world.disk.restart(powerLoss);
        world.forgetLeases();
        world.clients.forget();
        world.waiters.forget();
        world.uses.forget();
        world.runtime.forget();
        world.feature().forget();
        if (powerLoss) {
            world.lab.readNames();
        }
        world.engines.forEach(SimulatedEngine::die);
        world.machine.boot();
        world.containers.forgetLingering();
        for (SimulatedContainer container : world.allContainers()) {
            container.init = Optional.empty();
            container.others.clear();
        }
        if (recabled) {
            int first = world.gpus.firstMinor();
            world.gpus.recable();
            world.say("minors begin with " + world.gpus.firstMinor() + ", not " + first);
        }
        if (daemonFirst) {
            world.daemon.start();
        }
        world.engine().begin(true);
        return true;
    }

    boolean unplug(int index) {
        world.gpus.unplug(index);
        return true;
    }

    boolean stopEngine(boolean kindly, boolean liveRestore) {
        if (!world.engine().runs()) {
            return false;
        }
        if (kindly) {
            world.engine().finish(liveRestore);
        } else {
            world.engine().containers.stream()
                    .filter(container -> container.state == State.STARTING)
                    .forEach(container -> container.state = container.before);
            world.engine().die();
        }
        world.daemon.leave();
        trouble();
        return true;
    }

    /**
     * @param another whether it is the other engine that answers now
     */
    boolean startEngine(boolean another, boolean liveRestore) {
        if (world.engine().runs()) {
            return false;
        }
        boolean unknown =
                world.engine().containers.stream()
                        .filter(container -> container.lives(world.machine))
                        .anyMatch(
                                it -> it.claim().filter(world.unknownClaims::contains).isPresent());
        if (another && unknown) {
            // The other engine could not report them.
            return false;
        }
        if (another) {
            world.switchEngine();
        }
        world.say(world.engine().id + " starts");
        world.engine().begin(liveRestore);
        return true;
    }

    /** The engine's next answer about containers is a lie. */
    boolean lie() {
        if (!world.engine().serves() || world.engine().lies) {
            return false;
        }
        world.engine().lies = true;
        trouble();
        return true;
    }

    boolean changeMood(SimulatedEngine.Mood mood) {
        if (!world.engine().serves() || world.engine().mood == mood) {
            return false;
        }
        world.engine().mood = mood;
        if (mood != SimulatedEngine.Mood.WELL) {
            trouble();
        }
        return true;
    }

    private void trouble() {
        world.allContainers().forEach(container -> container.troubled = true);
    }
}
