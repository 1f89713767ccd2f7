package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.core.SimulatedClients.RunOptions;
import jnvdocker.grant.QueueKeeper;
import jnvdocker.grant.Waiting;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Request;
import jnvdocker.lease.Ticket;
import jnvdocker.posix.ProcessId;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The calls of {@code jnvdocker run --gpu-wait} in a simulated world, each until it is served,
 * refused or dead. A call whose daemon goes away is repeated at the next one.
 */
final class SimulatedWaiters {
    private static final Duration A_MOMENT = Duration.ofMillis(50);

    /** More moments than any waiter sleeps before it checks again. */
    private static final int A_LOOK = 25;

    /** A {@code jnvdocker run} that waits. */
    private final class Waiter {
        final Request request;
        final RunOptions options;
        final Optional<Duration> limit;
        final long since = world.machine.nanos();
        final int clockSet = world.machine.clockSet();
        boolean hasReturned;
        boolean isForgotten;

        /** The thread of the daemon that has its request; empty before it has sent one. */
        Optional<SteppedThread> thread = Optional.empty();

        /** Whether its turn lasts: the result of its daemon's work may not have reached it yet. */
        boolean goesOn;

        Optional<Claim> claim = Optional.empty();
        boolean refused;
        GrantCheck.Before before;

        Waiter(ProcessId process, RunOptions options, Optional<Duration> limit) {
            this.options = options;
            this.limit = limit;
            request = world.clients.request(process, options);
        }

        ProcessId process() {
            return request.client();
        }

        boolean isConnected() {
            return thread.filter(it -> !it.isOver()).isPresent();
        }

        boolean isResting() {
            return thread.filter(SteppedThread::isResting).isPresent();
        }

        boolean lives() {
            return world.machine.lives(process());
        }

        @Override
        public String toString() {
            return "pid " + process().pid() + ", " + options;
        }

        private void receive(String text) throws IOException {
            if (!lives()) {
                throw new IOException("nobody listens any more");
            }
            world.say("pid " + process().pid() + ": " + text);
        }

        void query() throws IOException {
            try {
                claim =
                        world.daemon
                                .parts()
                                .leases()
                                .runs()
                                .take(request, Optional.of(new Waiting(limit, this::receive)))
                                .keep();
                if (!served.remove(claim.orElseThrow().id())) {
                    world.grants.claimed(request, claim.get(), before);
                }
                // If that never reaches it, it comes again as the last.
                places.remove(process());
            } catch (RefusedException e) {
                world.say("pid " + process().pid() + " is refused: " + e.getMessage());
                world.refusals.waiter(request, e.getMessage(), isOverdue() || !isTimeKnown());
                refused = true;
            }
        }

        /** Whether it has waited as long as it wants to, or may. */
        private boolean isOverdue() {
            Duration waited = Duration.ofNanos(world.machine.nanos() - since);
            Optional<Duration> longest = limit.or(world.lab::maxWait);
            return longest.filter(it -> waited.compareTo(it) >= 0).isPresent();
        }

        /** Only the registry and the clock show how long it waited for an earlier daemon. */
        private boolean isTimeKnown() {
            return !hasReturned || clockSet == world.machine.clockSet() && !isForgotten;
        }
    }

    private final SimulatedWorld world;
    private final List<Waiter> waiters = new ArrayList<>();

    /**
     * Waiters that have sent their request to a second daemon, or more: GPUs that the first gave
     * them are taken back.
     */
    private final Set<ProcessId> returned = new HashSet<>();

    /** The numbers of the waiters' places. */
    private final Map<ProcessId, Long> places = new HashMap<>();

    private long last;

    /** Waiters that died while no daemon ran. */
    private final Set<ProcessId> unnoticed = new HashSet<>();

    /** The ids of claims given to waiters that were served in the queue. */
    private final Set<String> served = new HashSet<>();

    /**
     * Waiters that were served in the queue and have not been notified yet: they keep no other
     * waiting.
     */
    private final Set<ProcessId> unnamed = new HashSet<>();

    SimulatedWaiters(SimulatedWorld world) {
        this.world = world;
    }

    /** A new waiter requests GPUs, and gets them or waits. */
    boolean enter(RunOptions options, Optional<Duration> limit) throws IOException {
        if (!world.clients.canRequest()) {
            return false;
        }
        Waiter waiter = new Waiter(world.machine.spawn(), options, limit);
        waiters.add(waiter);
        query(waiter);
        return true;
    }

    /** A waiter's daemon is gone, and it sends its request to the next one. */
    boolean retry(int index) throws IOException {
        buryUnnoticed();
        List<Waiter> those =
                waiters.stream().filter(it -> !it.isConnected() && !it.goesOn).toList();
        if (those.isEmpty() || !world.daemon.isUp()) {
            return false;
        }
        Waiter waiter = those.get(index % those.size());
        world.say("pid " + waiter.process().pid() + " retries");
        returned.add(waiter.process());
        waiter.hasReturned = true;
        query(waiter);
        return true;
    }

    /** Whether a client was given GPUs that may have been taken back before it knew. */
    boolean isUntold(ProcessId client) {
        return unnamed.contains(client);
    }

    private void query(Waiter waiter) throws IOException {
        unnamed.remove(waiter.process());
        waiter.before = world.grants.before();
        waiter.thread = Optional.of(world.daemon.thread(waiter::query));
        goOn(waiter);
    }

    /**
     * Lets time pass for a waiter; others may oversleep meanwhile.
     *
     * @param moments how often it sleeps
     */
    boolean goOn(int index, int moments) throws IOException {
        List<Waiter> those = waiters.stream().filter(Waiter::isResting).toList();
        if (those.isEmpty()) {
            return false;
        }
        Waiter waiter = those.get(index % those.size());
        world.say("pid " + waiter.process().pid() + " goes on");
        goOn(waiter, moments);
        return true;
    }

    private void goOn(Waiter waiter, int moments) throws IOException {
        for (int i = 0; i < moments && waiter.isResting(); i++) {
            world.machine.pass(A_MOMENT);
            checkTheQueue();
            if (waiter.isResting()) {
                waiter.before = world.grants.before();
                goOn(waiter);
            }
        }
    }

    /** Does the work of the thread that serves all waiters. */
    boolean checkTheQueue() throws IOException {
        if (!world.daemon.isUp() || world.daemon.isBusy()) {
            return false;
        }
        QueueKeeper keeper = world.daemon.parts().queueKeeper();
        GrantCheck.Before before = world.grants.before();
        world.daemon.perform("queue", keeper::tick);
        if (world.daemon.isUp()) {
            checkServed(before);
        }
        return true;
    }

    /** Checks the grants in the order in which they were made. */
    private void checkServed(GrantCheck.Before before) throws IOException {
        for (Lease lease : world.daemon.parts().registry().live()) {
            if (!lease.isReservation() || before.reserved().contains(lease.id())) {
                continue;
            }
            for (Waiter waiter : waiters) {
                if (waiter.process().equals(lease.holder().process()) && waiter.isConnected()) {
                    world.say("pid " + waiter.process().pid() + " is served: " + lease.claim());
                    served.add(lease.claim().id());
                    unnamed.add(waiter.process());
                    world.grants.claimed(waiter.request, lease.claim(), before);
                }
            }
        }
    }

    private void goOn(Waiter waiter) throws IOException {
        SteppedThread thread = waiter.thread.orElseThrow();
        waiter.goesOn = true;
        try {
            world.daemon.goOn("wait", thread);
        } finally {
            waiter.goesOn = false;
        }
        if (!thread.isOver() || !world.daemon.isUp()) {
            // If the daemon is killed now, the client has no answer.
            return;
        }
        waiters.remove(waiter);
        if (waiter.claim.isPresent() && waiter.lives()) {
            world.clients.add(waiter.process(), waiter.options, waiter.claim.get());
        } else {
            world.machine.end(waiter.process());
        }
    }

    boolean die(int index) {
        if (waiters.isEmpty()) {
            return false;
        }
        Waiter waiter = waiters.get(index % waiters.size());
        world.say("pid " + waiter.process().pid() + " dies");
        world.machine.end(waiter.process());
        return true;
    }

    /** Moves waiters to {@code unnoticed} that have died while no daemon ran. */
    private void buryUnnoticed() {
        for (Waiter waiter : List.copyOf(waiters)) {
            if (!waiter.isConnected() && !waiter.lives()) {
                unnoticed.add(waiter.process());
                waiters.remove(waiter);
            }
        }
    }

    /** Whether it waits in the queue of the current daemon. */
    boolean isWaiting(ProcessId client) {
        return waiters.stream()
                .filter(it -> it.process().equals(client) && it.isConnected())
                .anyMatch(it -> it.thread.orElseThrow().hasSlept());
    }

    /** Whether the current daemon has its request, and has not answered yet. */
    boolean isConnected(ProcessId client) {
        return waiters.stream().anyMatch(it -> it.process().equals(client) && it.isConnected());
    }

    /** Whether it should have gone by now, and keeps no other waiting any more. */
    boolean isOverdue(ProcessId client) {
        return waiters.stream().anyMatch(it -> it.process().equals(client) && it.isOverdue());
    }

    /** The number of a client's place, if it had one before this step. */
    Optional<Long> place(ProcessId client) {
        return Optional.ofNullable(places.get(client));
    }

    boolean hasReturned(ProcessId client) {
        return returned.contains(client);
    }

    /** The host has been restarted. */
    void forget() {
        waiters.clear();
        forgetPlaces();
    }

    /**
     * The queue has fallen back to an earlier state: some of its clients may no longer be there.
     */
    void rollBack(List<Ticket> tickets) {
        tickets.stream()
                .map(ticket -> ticket.request().client())
                .filter(client -> !isOfWaiter(client))
                .forEach(unnoticed::add);
    }

    private boolean isOfWaiter(ProcessId client) {
        return waiters.stream().anyMatch(it -> it.process().equals(client) && it.lives());
    }

    /** The registry has been lost, and the queue with it. */
    void forgetPlaces() {
        places.clear();
        last = 0;
        waiters.forEach(it -> it.isForgotten = true);
    }

    /** Every waiter has a place of its own, and keeps it. */
    void check(List<Ticket> tickets) {
        Map<ProcessId, Long> now = new HashMap<>();
        // Several may have come since the last check, and the first of them need not be served
        // first.
        for (Ticket ticket : tickets.stream().sorted(Comparator.comparing(Ticket::id)).toList()) {
            assertTrue(
                    now.put(ticket.request().client(), ticket.id()) == null,
                    () -> "two places: " + tickets);
            Long before = places.put(ticket.request().client(), ticket.id());
            long expected = before == null ? Math.max(last + 1, ticket.id()) : before;
            assertEquals(expected, ticket.id(), () -> "another place: " + ticket);
            last = Math.max(last, ticket.id());
        }
        for (Waiter waiter : waiters) {
            boolean waits = waiter.lives() && isWaiting(waiter.process());
            assertTrue(
                    !waits || now.containsKey(waiter.process()),
                    () -> "no place: " + waiter.process() + " among " + tickets);
        }
    }

    /**
     * No other client has a place, except one that died while no daemon ran, which does no harm. No
     * waiter waits longer than it wants to, or may, or for GPUs that it could have had in the time
     * that {@link #settle} has given it.
     */
    void checkAll(List<Ticket> tickets) throws IOException {
        for (Waiter waiter : waiters) {
            if (waiter.isResting() && waiter.lives()) {
                world.refusals.stillWaiting(waiter.request);
            }
            assertTrue(
                    !waiter.isOverdue() || !waiter.isTimeKnown(),
                    () -> "waits too long: " + waiter);
        }
        for (Ticket ticket : tickets) {
            assertTrue(
                    isOfWaiter(ticket.request().client())
                            || unnoticed.contains(ticket.request().client())
                            || world.feature().isClient(ticket.request().client()),
                    () -> "nobody has this place: " + ticket);
        }
    }

    /** Gives every waiter the time that it needs. */
    void settle() throws IOException {
        buryUnnoticed();
        while (retry(0)) {
            buryUnnoticed();
        }
        for (Waiter waiter : List.copyOf(waiters)) {
            goOn(waiter, A_LOOK);
        }
    }

    /** Serves all waiters that nothing keeps from it, however the turns fall. */
    void serve() throws IOException {
        int rounds = waiters.size() + 1;
        for (int i = 0; i < rounds; i++) {
            for (Waiter waiter : List.copyOf(waiters).reversed()) {
                goOn(waiter, A_LOOK);
                world.clients.end();
            }
        }
        assertTrue(waiters.isEmpty(), () -> "never served: " + waiters);
    }
}
