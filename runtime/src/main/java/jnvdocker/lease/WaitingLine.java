package jnvdocker.lease;

import jnvdocker.container.GpuRequest;
import jnvdocker.container.GpuResolver;
import jnvdocker.host.Gpu;
import jnvdocker.labels.RefusedException;
import jnvdocker.process.ProcessId;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Those who wait for GPUs, first come, first served: nobody takes what somebody before them waits
 * for. So who wants many is not passed by for ever by those who want few. A place outlives the
 * daemon: its client asks again, and has it still.
 */
public final class WaitingLine {
    /** In which clients of the daemon before this one have asked again. */
    private static final Duration RETURN = Duration.ofSeconds(15);

    private final LeaseRegistry registry;
    private final Evidence evidence;
    private final Pace pace;
    private final long opened;
    private final List<Ticket> tickets;
    private final Set<Long> present = new HashSet<>();
    private final Changes moves = new Changes();

    private WaitingLine(
            LeaseRegistry registry, Evidence evidence, Pace pace, List<Ticket> tickets) {
        this.registry = registry;
        this.evidence = evidence;
        this.pace = pace;
        this.tickets = new ArrayList<>(tickets);
        opened = pace.nanos();
    }

    static WaitingLine open(LeaseRegistry registry, Evidence evidence, Pace pace)
            throws IOException {
        return new WaitingLine(registry, evidence, pace, registry.tickets());
    }

    /** Takes the place that this client has, else the last. */
    synchronized Ticket enter(Leases.Request request) throws IOException {
        forgetTheDead();
        Ticket ticket = registry.addTicket(request);
        tickets.removeIf(other -> other.id() == ticket.id());
        int place = 0;
        while (place < tickets.size() && tickets.get(place).id() < ticket.id()) {
            place++;
        }
        tickets.add(place, ticket);
        present.add(ticket.id());
        return ticket;
    }

    /** Of a client that has ended while no daemon looked nobody else gives the place up. */
    synchronized void forgetTheDead() throws IOException {
        for (Ticket ticket : List.copyOf(tickets)) {
            if (!present.contains(ticket.id()) && !evidence.isAlive(ticket.client())) {
                leave(ticket);
            }
        }
    }

    /** Gives a place up. */
    synchronized void leave(Ticket ticket) throws IOException {
        tickets.removeIf(other -> other.id() == ticket.id());
        present.remove(ticket.id());
        registry.removeTicket(ticket.id());
        moves.add();
    }

    /**
     * Its client can't be told anything any more. If that has ended, so has its place; else it may
     * ask again, and has it still.
     */
    synchronized void lose(Ticket ticket) throws IOException {
        present.remove(ticket.id());
        forgetTheDead();
        moves.add();
    }

    /** Each time that somebody gave his place up, or does not count any more. */
    Changes moves() {
        return moves;
    }

    /** Whether a client has a place, if only one of an earlier daemon's line. */
    synchronized boolean has(ProcessId client) {
        return tickets.stream().anyMatch(ticket -> ticket.client().equals(client));
    }

    /** Those who wait, first come first. */
    public synchronized List<Ticket> all() {
        return tickets.stream().filter(this::counts).toList();
    }

    synchronized List<Ticket> before(Ticket ticket) {
        return all().stream().filter(other -> other.id() < ticket.id()).toList();
    }

    /**
     * Who lives and has asked this daemon, or still may. One that does neither would keep everybody
     * else waiting.
     */
    private boolean counts(Ticket ticket) {
        boolean mayReturn = pace.nanos() - opened < RETURN.toNanos();
        return (present.contains(ticket.id()) || mayReturn) && evidence.isAlive(ticket.client());
    }

    /**
     * What these are to have before anybody behind them, by UUID. Who asks for a number may get
     * any, so all are kept; there are too few free ones, or it would not wait.
     */
    static Map<String, Ticket> keptFor(Collection<Ticket> waiting, List<Gpu> gpus) {
        Map<String, Ticket> kept = new HashMap<>();
        for (Ticket ticket : waiting) {
            for (Gpu gpu : wanted(ticket.request(), gpus)) {
                if (ticket.mayHave(gpu)) {
                    kept.putIfAbsent(gpu.uuid(), ticket);
                }
            }
        }
        return kept;
    }

    private static List<Gpu> wanted(GpuRequest request, List<Gpu> gpus) {
        return switch (request) {
            case GpuRequest.Devices(List<String> ids) -> {
                try {
                    yield GpuResolver.resolve(ids, gpus);
                } catch (RefusedException e) {
                    yield List.of(); // it is told so itself
                }
            }
            case GpuRequest.None _ -> List.of();
            case GpuRequest.All _, GpuRequest.Count _ -> gpus;
        };
    }
}
