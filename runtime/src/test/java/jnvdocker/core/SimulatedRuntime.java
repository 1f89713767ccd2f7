package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.grant.FirstScan;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.oci.lease.OciContainers;
import jnvdocker.oci.lease.OciCreation;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * The containers of a simulated world that our OCI runtime creates, by an engine that the daemon
 * does not query: its own engine may be down meanwhile, or be another.
 */
final class SimulatedRuntime {
    private static final int CONTAINERS = 3;
    private static final int MOST_OTHERS = 2;
    private static final String ROOT = "/run/runc";

    /** A container by the model's account. */
    private static final class Container {
        final String id;
        Optional<Claim> claim = Optional.empty();

        /** Our runtime, which becomes the real one, from the question until it ends. */
        Optional<ProcessId> runtime = Optional.empty();

        Optional<ProcessId> init = Optional.empty();
        final List<ProcessId> others = new ArrayList<>();
        boolean released;

        /** Whether everything that was written of its lease is lost. */
        boolean lost;

        /** Whether the registry, which knew its cgroup, was lost since its first process began. */
        boolean cgroupLost;

        /** Whether our runtime waits for the answer. */
        boolean isRequesting;

        Container(int number) {
            id = "%02d".formatted(number).repeat(32);
        }

        boolean lives() {
            return runtime.isPresent() || init.isPresent() || !others.isEmpty();
        }

        /** Whether its lease could be known again by what is mounted. */
        boolean isToBeSeen() {
            return init.isPresent();
        }

        @Override
        public String toString() {
            return "runtime container " + id.substring(0, 2);
        }
    }

    private final SimulatedWorld world;
    private final List<Container> containers =
            IntStream.range(0, CONTAINERS).mapToObj(Container::new).toList();

    SimulatedRuntime(SimulatedWorld world) {
        this.world = world;
    }

    private Container container(int index) {
        return containers.get(index % CONTAINERS);
    }

    private LeaseParts parts() {
        return world.daemon.parts();
    }

    /** Our runtime requests a container's GPUs, and goes on to create it if it gets them. */
    boolean create(int index, GpuRequest wanted) throws IOException {
        Container it = container(index);
        if (!world.daemon.isUp()
                || it.isRequesting
                || it.runtime.isPresent()
                || it.init.isPresent()
                || it.released && it.lives()) {
            // An engine does not create a container that exists.
            return false;
        }
        SimulatedWorld.Requested requested = world.requesting(wanted);
        ProcessId process = requested.process();
        GpuRequest request = requested.request();
        it.runtime = Optional.of(process);
        it.isRequesting = true;
        Optional<Claim> before = it.claim;
        Optional<Lease> lease = answer(it, request, process);
        it.isRequesting = false;
        if (lease.isEmpty()) {
            it.claim = before;
            world.machine.end(process);
            it.runtime = Optional.empty();
            return true;
        }
        world.say(it + " is given " + minors(it) + " by claim " + lease.get().claim().id());
        return true;
    }

    private static List<Integer> minors(Container container) {
        return container.claim.orElseThrow().gpus().stream().map(ClaimedGpu::minor).toList();
    }

    private Optional<Lease> answer(Container it, GpuRequest request, ProcessId process)
            throws IOException {
        Owner owner = SimulatedClients.owner(process);
        OciCreation creation =
                TestingParts.creation(
                        new OciContainers.Container(ROOT, it.id),
                        it.id.substring(0, 2),
                        Optional.of("cuda"),
                        process,
                        owner,
                        request);
        Request requested = creation.request();
        GrantCheck.Before before = world.grants.beforeMount();
        boolean alone = world.course.isUndisturbed();
        List<Lease> given = new ArrayList<>();
        world.daemon.perform(
                "create",
                () -> {
                    try {
                        FirstScan scan = parts().oci().scan(world.gpus());
                        Lease lease = parts().oci().take(creation, scan).keep().orElseThrow();
                        given.add(lease);
                        it.claim = Optional.of(lease.claim());
                        it.released = false;
                        it.lost = false;
                        it.cgroupLost = false;
                        assertTrue(it.others.isEmpty(), () -> "is created beside itself: " + it);
                        parts().ociKeeper().remember(lease);
                        world.grants.created(requested, lease.claim(), before);
                    } catch (RefusedException e) {
                        world.say("refused: " + e.getMessage());
                        world.refusals.creation(
                                requested,
                                it.id,
                                e.getMessage(),
                                alone && world.grants.isStillKept(before));
                    }
                });
        // If the daemon is killed now, our runtime has no answer.
        return world.daemon.isUp() ? given.stream().findFirst() : Optional.empty();
    }

    /** The real runtime starts the first process. */
    boolean begin(int index) {
        Container it = container(index);
        if (it.runtime.isEmpty()
                || it.claim.isEmpty()
                || it.init.isPresent()
                || it.isRequesting
                || !isMountable(it.claim.get())) {
            return false;
        }
        it.init = Optional.of(spawn(it, true));
        return true;
    }

    /** Once its lease was released by force, its directory may be gone. */
    private boolean isMountable(Claim claim) {
        return Files.exists(world.state.resolve("claims").resolve(claim.id()));
    }

    private ProcessId spawn(Container it, boolean mounted) {
        return world.machine.spawn(
                it.claim.map(Claim::id).filter(_ -> mounted), Optional.of("/docker/" + it.id));
    }

    /** The real runtime has created the container, or it or ours has been killed before. */
    boolean leave(int index) {
        Container it = container(index);
        if (it.runtime.isEmpty()) {
            return false;
        }
        it.runtime.ifPresent(world.machine::end);
        it.runtime = Optional.empty();
        return true;
    }

    /** The daemon searches for the first process. */
    boolean check(int index) throws IOException {
        Container it = container(index);
        if (!world.daemon.isUp() || it.claim.isEmpty()) {
            return false;
        }
        Optional<Lease> lease = world.liveLease(it.claim.get().id()).filter(Lease::isReservation);
        if (lease.isEmpty()) {
            return false;
        }
        return world.daemon.perform(
                "check", () -> parts().ociKeeper().check(lease.get(), Optional.empty()));
    }

    /**
     * @param mounted whether the new process sees the claim's directory
     */
    boolean fork(int index, boolean mounted) {
        Container it = container(index);
        if (it.init.isEmpty() || it.others.size() == MOST_OTHERS || !mounted && !isSeen(it)) {
            return false;
        }
        it.others.add(spawn(it, mounted));
        return true;
    }

    /**
     * Whether the daemon has seen the first process: before that it knows no cgroup, by which it
     * would find a process that has nothing mounted and survives the first one.
     */
    private boolean isSeen(Container it) {
        return it.claim
                .flatMap(claim -> world.liveLease(claim.id()))
                .filter(lease -> !lease.isReservation())
                .isPresent();
    }

    /** A first process does not end before its runtime, which reports that it has begun. */
    boolean end(int index) {
        Container it = container(index);
        if (it.init.isEmpty()
                || it.runtime.isPresent()
                // What has nothing mounted could not be distinguished from any process of the host.
                || it.lost && !it.others.isEmpty()
                || it.cgroupLost
                        && it.others.stream().anyMatch(world.machine::hasNothingMounted)
                        && !isSeen(it)) {
            return false;
        }
        it.init.ifPresent(world.machine::end);
        it.init = Optional.empty();
        return true;
    }

    boolean endOthers(int index) {
        Container it = container(index);
        if (it.others.isEmpty()) {
            return false;
        }
        it.others.forEach(world.machine::end);
        it.others.clear();
        return true;
    }

    /** The daemon checks whether any has ended. */
    boolean sweep() throws IOException {
        return world.daemon.perform(
                "check ends",
                () -> {
                    parts().keeper().sweep();
                    parts().ociKeeper().tidy();
                });
    }

    /** A lease was released by force. */
    void released(String claim) {
        containers.stream()
                .filter(it -> it.lives() && it.claim.map(Claim::id).equals(Optional.of(claim)))
                .forEach(it -> it.released = true);
    }

    /** Whether only the registry knows of a container that lives. */
    boolean isAnyUntold() {
        return containers.stream()
                .filter(Container::lives)
                .anyMatch(it -> it.released || !it.isToBeSeen());
    }

    /** Whether a container that runs would not be seen by its mounts. */
    boolean isAnyUnseen() {
        return containers.stream()
                .anyMatch(it ->
                        it.lives() && it.released || !it.others.isEmpty() && !it.isToBeSeen());
    }

    /** The registry is lost. */
    void loseRegistry() {
        containers.forEach(it -> it.cgroupLost = true);
    }

    /** The registry and the claims' files are lost: what was not mounted yet cannot be any more. */
    void lose() {
        for (Container it : containers) {
            it.lost = it.init.isPresent();
            if (!it.lost) {
                it.claim = Optional.empty();
            }
        }
    }

    /** The GPUs in use, by UUID. */
    Map<String, SimulatedWorld.User> users() {
        Map<String, SimulatedWorld.User> users = new HashMap<>();
        for (Container it : containers) {
            if (it.lives() && !it.released && it.claim.isPresent()) {
                var user = new SimulatedWorld.User(it, world.party(it.claim.get().id()));
                for (ClaimedGpu gpu : it.claim.get().gpus()) {
                    var other = users.put(gpu.uuid(), user);
                    assertTrue(
                            other == null || other.party().equals(user.party()),
                            () -> gpu + " has " + other + " and " + user);
                }
            }
        }
        return users;
    }

    /** Whether anything of a claim's container lives. */
    boolean lives(String claim) {
        return containers.stream()
                .anyMatch(it -> it.lives() && it.claim.map(Claim::id).equals(Optional.of(claim)));
    }

    /** Whether a process of a container's last start lives. */
    boolean hasOthers(String id) {
        return containers.stream().anyMatch(it -> it.id.equals(id) && !it.others.isEmpty());
    }

    /** What lives has a lease of its GPUs. */
    void check(List<Lease> live) {
        for (Container it : containers) {
            if (it.lives() && !it.released && !it.lost && it.claim.isPresent()) {
                String claim = it.claim.get().id();
                List<Lease> its =
                        live.stream().filter(of -> of.claim().id().equals(claim)).toList();
                assertEquals(1, its.size(), () -> it + " lives without its lease " + claim);
                assertEquals(it.claim.get().gpus(), its.getFirst().claim().gpus(), it::toString);
            }
        }
    }

    /** Ends all of them. */
    void end() {
        for (Container it : containers) {
            it.runtime.ifPresent(world.machine::end);
            it.init.ifPresent(world.machine::end);
            it.others.forEach(world.machine::end);
        }
        forget();
    }

    /** The host has been restarted. */
    void forget() {
        for (Container it : containers) {
            it.claim = Optional.empty();
            it.runtime = Optional.empty();
            it.init = Optional.empty();
            it.others.clear();
            it.released = false;
            it.lost = false;
            it.cgroupLost = false;
        }
    }
}
