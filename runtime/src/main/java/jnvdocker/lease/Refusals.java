package jnvdocker.lease;

import jnvdocker.container.GpuRequest;
import jnvdocker.host.Gpu;
import jnvdocker.labels.Quote;

import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Says who has a GPU, in the words that users get to see. */
public final class Refusals {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("HH:mm");
    private static final DateTimeFormatter DAY = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm");
    private static final int NAMED = 4;

    private Refusals() {}

    /** {@code GPU 1 (GPU-5c1a1003)}. */
    public static String name(int index, String uuid) {
        return "GPU " + index + " (" + Gpu.shortUuid(uuid) + ")";
    }

    /** {@code alice's container train-7}, or {@code alice's docker run (pid 4711)}. */
    public static String holder(Lease lease) {
        Claim claim = lease.claim();
        String user = Quote.shown(claim.owner().name()) + "'s ";
        if (lease.holder() instanceof Holder.Client client) {
            return user + "docker run (pid " + client.process().pid() + ")";
        }
        return claim.container()
                .map(container -> user + "container " + Quote.shown(container.name()))
                .orElse(user + "container of image " + Quote.shown(claim.image()));
    }

    /** {@code 09:12}, with the day when it was not today. */
    public static String time(Instant instant) {
        ZonedDateTime local = instant.atZone(ZoneId.systemDefault());
        boolean today = local.toLocalDate().equals(LocalDate.now(ZoneId.systemDefault()));
        return (today ? TIME : DAY).format(local);
    }

    /** {@code 9s}, {@code 5m}, {@code 3h 20m}. */
    static String span(Duration span) {
        if (span.toMinutes() == 0) {
            return span.toSeconds() + "s";
        }
        return span.toHours() == 0
                ? span.toMinutes() + "m"
                : span.toHours() + "h " + span.toMinutesPart() + "m";
    }

    /** {@code is held by alice's container train-7 since 09:12}. */
    public static String held(Lease lease) {
        return "is " + heldBy(lease);
    }

    private static String heldBy(Lease lease) {
        return (lease.isReservation() ? "reserved by " : "held by ")
                + holder(lease)
                + " since "
                + time(lease.since());
    }

    /** One clause for each holder and its GPUs; the first few, when there are many. */
    static String held(List<ClaimedGpu> gpus, List<Lease> leases) {
        List<String> clauses = new ArrayList<>();
        for (Lease lease : leases) {
            List<ClaimedGpu> its = gpus.stream().filter(gpu -> holds(lease, gpu.uuid())).toList();
            if (its.size() == 1) {
                ClaimedGpu gpu = its.getFirst();
                clauses.add(name(gpu.index(), gpu.uuid()) + " " + held(lease));
            } else if (!its.isEmpty()) {
                String indices =
                        its.stream().map(gpu -> "" + gpu.index()).collect(Collectors.joining(", "));
                clauses.add("GPUs " + indices + " are " + heldBy(lease));
            }
        }
        int more = clauses.size() - NAMED;
        return clauses.stream().limit(NAMED).collect(Collectors.joining(", "))
                + (more > 0 ? ", and others by " + more + " more" : "");
    }

    /** Like {@link #held}, with those that are free and kept for somebody who waits. */
    static String taken(List<ClaimedGpu> gpus, List<Lease> leases, Map<String, Ticket> kept) {
        Map<Ticket, List<ClaimedGpu>> free = new LinkedHashMap<>();
        for (ClaimedGpu gpu : gpus) {
            if (leases.stream().noneMatch(lease -> holds(lease, gpu.uuid()))) {
                free.computeIfAbsent(kept.get(gpu.uuid()), _ -> new ArrayList<>()).add(gpu);
            }
        }
        String held = held(gpus, leases);
        return Stream.concat(
                        held.isEmpty() ? Stream.of() : Stream.of(held),
                        free.entrySet().stream()
                                .map(entry -> kept(entry.getValue(), entry.getKey())))
                .collect(Collectors.joining(", "));
    }

    private static String kept(List<ClaimedGpu> gpus, Ticket ticket) {
        String indices =
                gpus.stream().map(gpu -> "" + gpu.index()).collect(Collectors.joining(", "));
        return (gpus.size() == 1 ? "GPU " + indices + " is" : "GPUs " + indices + " are")
                + " kept for "
                + Quote.shown(ticket.owner().name())
                + "'s docker run (pid "
                + ticket.client().pid()
                + "), which has waited for "
                + asked(ticket.request())
                + " since "
                + time(ticket.since());
    }

    /** {@code 2 GPUs}. */
    static String asked(GpuRequest request) {
        return switch (request) {
            case GpuRequest.All _ -> "all GPUs";
            case GpuRequest.None _ -> "no GPU";
            case GpuRequest.Count(int count) -> count == 1 ? "1 GPU" : count + " GPUs";
            case GpuRequest.Devices(List<String> ids) ->
                    (ids.size() == 1 ? "GPU " : "GPUs ") + String.join(", ", ids);
        };
    }

    private static boolean holds(Lease lease, String uuid) {
        return lease.claim().gpus().stream().anyMatch(gpu -> gpu.uuid().equals(uuid));
    }
}
