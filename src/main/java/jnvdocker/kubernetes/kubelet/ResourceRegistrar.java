package jnvdocker.kubernetes.kubelet;

import jnvdocker.kubernetes.PluginRegistration;
import jnvdocker.kubernetes.PluginRegistration.Competitor;
import jnvdocker.kubernetes.PluginRegistration.Failed;
import jnvdocker.kubernetes.PluginRegistration.NoKubelet;
import jnvdocker.kubernetes.PluginRegistration.Registered;
import jnvdocker.kubernetes.PluginRegistration.Trying;
import jnvdocker.posix.FileErrors;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.Set;

/**
 * Keeps one resource registered at whichever kubelet there is. For one thread, except where it says
 * otherwise.
 */
final class ResourceRegistrar implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ResourceRegistrar.class);

    /** A kubelet queries the plugin, for at most 10 s, before it answers. */
    private static final Duration REGISTER_LIMIT = Duration.ofSeconds(15);

    /** A kubelet that has just made its socket may not listen yet. Pods that come now are lost. */
    private static final Duration FIRST_DELAY = Duration.ofMillis(50);

    private static final Duration MOST_DELAY = Duration.ofSeconds(30);

    /**
     * A kubelet takes the end of an old stream for the end of the new one if it notices that end
     * only after the registration.
     */
    private static final Duration SETTLE = Duration.ofMillis(300);

    /** The time in which a kubelet begins to read the devices. */
    private static final Duration READ_LIMIT = Duration.ofSeconds(2);

    /** A registration that has lasted so long was no failure. */
    private static final Duration STEADY = Duration.ofMinutes(1);

    private final GrpcSockets grpc;
    private final PluginDirectory directory;
    private final Resource resource;
    private final Runnable changed;
    private volatile PluginRegistration state;

    private Optional<DevicePluginServer> server = Optional.empty();
    private Optional<Object> kubelet = Optional.empty();
    private boolean overtaken;
    private boolean cleared;
    private boolean registered;
    private boolean wasRead;
    private long registeredAt;
    private long due = System.nanoTime();
    private Duration delay = FIRST_DELAY;

    /**
     * @param changed run when it is time to review
     */
    ResourceRegistrar(
            GrpcSockets grpc, PluginDirectory directory, Resource resource, Runnable changed) {
        this.grpc = grpc;
        this.directory = directory;
        this.resource = resource;
        this.changed = changed;
        state = new PluginRegistration(resource.name(), new Trying(), Instant.now());
    }

    /** The outcome of the registration; for any thread. */
    PluginRegistration registration() {
        return state;
    }

    Path socket() {
        return directory.path().resolve(resource.socketName());
    }

    Set<String> uuids() {
        return resource.plugin().uuids();
    }

    /**
     * Does what is to be done now.
     *
     * @param present the kubelet's socket, if it has one
     * @param competitor the socket of another plugin with GPUs of ours
     * @return how long nothing is to be done, unless something happens
     */
    Duration review(Optional<Object> present, Optional<Path> competitor, Duration poll) {
        if (present.isEmpty()) {
            kubelet = present;
            registered = false;
            report(new NoKubelet());
            return poll;
        }
        boolean fresh = !present.equals(kubelet);
        if (fresh) {
            kubelet = present;
            registered = false;
            delay = FIRST_DELAY;
            plan(Duration.ZERO);
        }
        try {
            serve(fresh);
        } catch (IOException e) {
            report(
                    new Failed(
                            new Refusal(
                                    "cannot listen on %s (%s)"
                                            .formatted(socket(), FileErrors.reason(e)),
                                    "end the other program, or set resource in [kubernetes]")));
            return poll;
        }
        if (competitor.isPresent()) {
            overtaken = true;
            registered = false;
            report(new Competitor(competitor.get().getFileName().toString()));
            return poll;
        }
        if (overtaken) {
            overtaken = false;
            plan(SETTLE);
        }
        return registerIfDue(poll);
    }

    /** Serves no kubelet, since none there can be trusted. */
    void withdraw(Refusal why) {
        closeServer();
        kubelet = Optional.empty();
        registered = false;
        report(new Failed(why));
    }

    private Duration registerIfDue(Duration poll) {
        if (registered) {
            if (isRead()) {
                return wasRead ? poll : READ_LIMIT;
            }
            registered = false;
            if (!wasRead) {
                report(
                        new Failed(
                                new Refusal(
                                        "the kubelet has registered "
                                                + resource.name()
                                                + ", but does not read its devices",
                                        "see the kubelet's log")));
            }
            retry();
        }
        long left = due - System.nanoTime();
        if (left > 0) {
            return Duration.ofNanos(left);
        }
        if (server.orElseThrow().readers() > 0 && !cleared) {
            // The kubelet may have forgotten us, or not: it is to begin again in either case.
            cleared = true;
            server.orElseThrow().endStreams();
            plan(SETTLE);
            return SETTLE;
        }
        cleared = false;
        register();
        return registered ? READ_LIMIT : delay;
    }

    /** Whether a kubelet reads the devices, or has been registered for too short a time. */
    private boolean isRead() {
        long age = System.nanoTime() - registeredAt;
        if (server.orElseThrow().readers() > 0) {
            wasRead = true;
            report(new Registered());
            if (age > STEADY.toNanos()) {
                delay = FIRST_DELAY;
            }
            return true;
        }
        return !wasRead && age < READ_LIMIT.toNanos();
    }

    /**
     * Listens on a socket of that name. A kubelet needs the name only to connect: one that is
     * connected keeps its connection if the name was removed, since it rejects pods for good while
     * it has none.
     */
    private void serve(boolean fresh) throws IOException {
        boolean connected = server.isPresent() && server.get().readers() > 0 && !fresh;
        if (connected || server.isPresent() && server.get().isThere()) {
            return;
        }
        if (server.isPresent()) {
            LOG.info("{} was removed, and is created again", socket());
            closeServer();
            registered = false;
            if (!fresh) {
                plan(SETTLE);
            }
        }
        server = Optional.of(DevicePluginServer.listen(grpc, socket(), resource.plugin(), changed));
    }

    private void register() {
        // It may have started since this review began; once registered, it is not a fresh one.
        Optional<Object> running = directory.kubeletNow();
        if (!PluginDirectory.isServed(directory.kubelet())) {
            report(new NoKubelet());
            retry();
            return;
        }
        RegisterRequest request =
                new RegisterRequest(
                        RegisterRequest.VERSION,
                        resource.socketName(),
                        resource.name(),
                        PluginOptions.OURS);
        try {
            grpc.request(directory.kubelet(), Calls.REGISTER, request.bytes(), REGISTER_LIMIT);
            kubelet = running;
            registered = true;
            wasRead = false;
            registeredAt = System.nanoTime();
        } catch (IOException e) {
            if (Thread.currentThread().isInterrupted()) {
                return; // it is closing
            }
            report(
                    new Failed(
                            new Refusal(
                                    "the kubelet does not register %s (%s)"
                                            .formatted(resource.name(), e.getMessage()),
                                    "see the kubelet's log")));
            retry();
        }
    }

    private void retry() {
        plan(wasRead && delay.compareTo(SETTLE) < 0 ? SETTLE : delay);
        Duration twice = delay.multipliedBy(2);
        delay = twice.compareTo(MOST_DELAY) < 0 ? twice : MOST_DELAY;
    }

    private void plan(Duration in) {
        due = System.nanoTime() + in.toNanos();
    }

    /** A failure may have another reason each time; the first one is logged. */
    private void report(PluginRegistration.State next) {
        PluginRegistration.State before = state.state();
        if (next.equals(before)) {
            return;
        }
        boolean still = before instanceof Failed && next instanceof Failed;
        state =
                new PluginRegistration(
                        resource.name(), next, still ? state.since() : Instant.now());
        switch (next) {
            case Registered _ ->
                    LOG.info(
                            "the kubelet gives out {}: {} devices",
                            resource.name(),
                            resource.plugin().devices().size());
            case Trying _ -> {}
            case NoKubelet _ -> LOG.info("no kubelet serves {}", directory.kubelet());
            case Competitor(String socket) ->
                    LOG.warn(
                            "{} is not registered: another device plugin gives out the same GPUs"
                                    + " at {}; remove it from this node",
                            resource.name(),
                            Quote.lines(directory.path().resolve(socket).toString()));
            case Failed(Refusal reason) when !still -> LOG.warn("{}", reason.message());
            case Failed _ -> LOG.debug("{} is still not registered", resource.name());
        }
    }

    private void closeServer() {
        server.ifPresent(DevicePluginServer::close);
        server = Optional.empty();
    }

    @Override
    public void close() {
        closeServer();
    }
}
