package jnvdocker.core;

import jnvdocker.container.Allocation;
import jnvdocker.core.SimulatedContainer.Settings;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The calls of {@code jnvdocker run} and {@code create} in a simulated world, each from its claim
 * until it has become docker and docker has ended.
 */
final class SimulatedClients {
    /** The first of some users that no host has, so that only we know their names. */
    static final int NOBODYS_UID = 1_987_654_320;

    static final int USERS = 3;

    /** How a client calls docker. */
    record RunOptions(
            GpuRequest request,
            boolean createOnly,
            boolean detached,
            boolean always,
            boolean remove,
            Optional<Duration> time) {
        /** Options that do not say how long the GPUs are wanted. */
        RunOptions(
                GpuRequest request,
                boolean createOnly,
                boolean detached,
                boolean always,
                boolean remove) {
            this(request, createOnly, detached, always, remove, Optional.empty());
        }

        RunOptions of(GpuRequest other) {
            return new RunOptions(other, createOnly, detached, always, remove, time);
        }

        RunOptions lasting(Optional<Duration> wanted) {
            return new RunOptions(request, createOnly, detached, always, remove, wanted);
        }

        @Override
        public String toString() {
            return (createOnly ? "create" : "run")
                    + (detached && !createOnly ? " -d" : "")
                    + (always ? " --restart always" : "")
                    + (remove ? " --rm" : "")
                    + time.map(it -> " --gpu-time " + it.toSeconds() + "s").orElse("")
                    + " --gpus "
                    + request;
        }
    }

    /** A {@code jnvdocker run} on its way. */
    private static final class Client {
        final ProcessId process;
        final RunOptions options;
        final Claim claim;
        final Allocation allocation;
        Optional<SimulatedContainer> container = Optional.empty();
        boolean started;

        Client(ProcessId process, RunOptions options, Claim claim, Allocation allocation) {
            this.process = process;
            this.options = options;
            this.claim = claim;
            this.allocation = allocation;
        }
    }

    private final SimulatedWorld world;
    private final List<Client> clients = new ArrayList<>();

    SimulatedClients(SimulatedWorld world) {
        this.world = world;
    }

    boolean areGone() {
        return clients.isEmpty();
    }

    /** A new client requests GPUs, and goes on if it gets them. */
    boolean claim(RunOptions options) throws IOException {
        if (!canRequest()) {
            return false;
        }
        SimulatedWorld.Requested requested = world.requesting(options.request());
        ProcessId process = requested.process();
        RunOptions meant = options.of(requested.request());
        Optional<Claim> claim = answer(process, meant);
        if (claim.isEmpty()) {
            world.machine.end(process);
            return true;
        }
        add(process, meant, claim.get());
        return true;
    }

    /** Whether a client can query an image's needs and request GPUs. */
    boolean canRequest() {
        return world.daemon.isUp() && world.daemon.answers();
    }

    /** Adds a client that has been given GPUs. */
    void add(ProcessId process, RunOptions options, Claim claim) throws IOException {
        Allocation allocation;
        try {
            allocation = world.daemon.parts().leases().runs().allocation(claim, world.gpus());
        } catch (RefusedException e) {
            world.say("client " + process.pid() + ": " + e.getMessage());
            world.machine.end(process);
            world.daemon.perform(
                    "cancel", () -> world.daemon.parts().leases().reservations().cancel(claim));
            return;
        }
        clients.add(new Client(process, options, claim, allocation));
        world.say(
                "client "
                        + process.pid()
                        + " has claim "
                        + claim.id()
                        + " of "
                        + claim.gpus().stream().map(ClaimedGpu::minor).toList());
    }

    /** The user who has started it. */
    static Owner owner(ProcessId process) {
        return user(process.pid());
    }

    static Owner user(int number) {
        int user = number % USERS;
        return new Owner(NOBODYS_UID + user, "user" + user);
    }

    Request request(ProcessId process, RunOptions options) {
        return new Request(
                options.request(),
                Set.of(),
                owner(process),
                process,
                new Origin.EngineContainer(world.engine().id, Optional.of("cuda")),
                options.time());
    }

    private Optional<Claim> answer(ProcessId process, RunOptions options) throws IOException {
        List<Optional<Claim>> found = new ArrayList<>();
        Request request = request(process, options);
        GrantCheck.Before before = world.grants.before();
        boolean alone = world.course.isUndisturbed();
        world.daemon.perform(
                "claim",
                () -> {
                    try {
                        Optional<Claim> claim =
                                world.daemon
                                        .parts()
                                        .leases()
                                        .runs()
                                        .take(request, Optional.empty())
                                        .keep();
                        found.add(claim);
                        world.grants.claimed(request, claim.orElseThrow(), before);
                    } catch (RefusedException e) {
                        world.say("refused: " + e.getMessage());
                        world.refusals.client(
                                request, e.getMessage(), alone && world.grants.isStillKept(before));
                    }
                });
        // If the daemon is killed now, the client has no answer.
        return world.daemon.isUp()
                ? found.stream().flatMap(Optional::stream).findFirst()
                : Optional.empty();
    }

    /** Goes from the claim to the start, with nothing in between. */
    boolean run(RunOptions options) throws IOException {
        int before = clients.size();
        if (!claim(options)) {
            return false;
        }
        if (clients.size() > before) {
            Client client = clients.getLast();
            create(client, false);
            if (clients.contains(client)) {
                start(client, false);
            }
        }
        return true;
    }

    boolean goOn(int index, boolean fails, boolean slowly) {
        List<Client> waiting = clients.stream().filter(it -> !it.started).toList();
        if (waiting.isEmpty()) {
            return false;
        }
        Client client = waiting.get(index % waiting.size());
        if (client.container.isEmpty()) {
            return create(client, fails);
        }
        start(client, slowly);
        return true;
    }

    private void start(Client client, boolean slowly) {
        SimulatedContainer container = client.container.orElseThrow();
        Optional<String> error = world.engine().start(container, slowly);
        world.say("start " + container + ": " + error.orElse("done"));
        client.started = true;
        if (error.isPresent() || client.options.detached()) {
            leave(client);
        }
    }

    private boolean create(Client client, boolean fails) {
        var mount = client.allocation.mounts().getFirst();
        Settings settings =
                new Settings(
                        client.allocation.labels(),
                        Optional.of(mount.volume()),
                        SimulatedContainer.gpus(client.claim),
                        client.options.always(),
                        client.options.remove());
        Optional<String> error =
                client.claim.origin().isOf(world.engine().id)
                        ? world.engine().create(settings, Map.of(), fails)
                        : Optional.of("the engine is another");
        world.say("create: " + error.orElse("done"));
        if (error.isEmpty()) {
            client.container = Optional.of(world.engine().containers.getLast());
        }
        if (error.isPresent() || client.options.createOnly()) {
            leave(client);
        }
        return true;
    }

    boolean die(int index) {
        if (clients.isEmpty()) {
            return false;
        }
        leave(clients.get(index % clients.size()));
        return true;
    }

    /** A client went away before it became docker, and the daemon has noticed. */
    boolean hangUp(int index) throws IOException {
        List<Client> waiting =
                clients.stream().filter(client -> client.container.isEmpty()).toList();
        if (waiting.isEmpty()) {
            return false;
        }
        Client client = waiting.get(index % waiting.size());
        leave(client);
        return world.daemon.perform(
                "cancel", () -> world.daemon.parts().leases().reservations().cancel(client.claim));
    }

    private void leave(Client client) {
        world.machine.end(client.process);
        clients.remove(client);
    }

    /** Ends the clients of a claim that was released by force. */
    void end(String claim) {
        clients.removeIf(client -> {
            boolean its = client.claim.id().equals(claim);
            if (its) {
                world.machine.end(client.process);
            }
            return its;
        });
    }

    /** Ends all clients. */
    void end() {
        List.copyOf(clients).forEach(this::leave);
    }

    /** The host has been restarted. */
    void forget() {
        clients.clear();
    }
}
