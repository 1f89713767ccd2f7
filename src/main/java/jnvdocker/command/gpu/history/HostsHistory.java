package jnvdocker.command.gpu.history;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.command.hosts.HostAnswer;
import jnvdocker.lease.GpuTime;
import jnvdocker.lease.Owner;

import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * The GPU-hours of several hosts, added up by name: a user may have another uid on each.
 *
 * @param time of all hosts that have answered
 * @param keptSince the latest time since when one of them keeps leases, if that is in the span
 * @param missing the hosts whose hours are not known
 */
public record HostsHistory(GpuTime time, Optional<Instant> keptSince, List<Missing> missing) {
    private static final double HOUR_MILLIS = 3_600_000;

    public HostsHistory {
        missing = List.copyOf(missing);
    }

    /**
     * A host whose hours are not known.
     *
     * @param error why, for people
     */
    public record Missing(String host, String error) {}

    /**
     * Adds up answers to {@code gpu history --json}.
     *
     * @param from where the span begins
     * @param until where it ends
     */
    static HostsHistory of(List<HostAnswer> answers, Instant from, Instant until) {
        List<GpuTime.Use> uses = new ArrayList<>();
        List<Instant> kept = new ArrayList<>();
        List<Missing> missing = new ArrayList<>();
        for (HostAnswer answer : answers) {
            if (answer.failure().isPresent()) {
                missing.add(new Missing(answer.host(), answer.failure().get()));
                continue;
            }
            try {
                JsonNode report = answer.entries().getFirst();
                uses.addAll(uses(report));
                HostAnswer.name(report, "kept_since").map(Instant::parse).ifPresent(kept::add);
            } catch (DateTimeException | ArithmeticException e) {
                missing.add(new Missing(answer.host(), "its answer is of another version"));
            }
        }
        GpuTime all = new GpuTime(from, until, uses);
        return new HostsHistory(
                all.by(owner -> new Owner(Owner.UNKNOWN.uid(), owner.name())),
                kept.stream().max(Comparator.naturalOrder()),
                missing);
    }

    private static List<GpuTime.Use> uses(JsonNode report) {
        return report.path("users").valueStream().map(HostsHistory::use).toList();
    }

    private static GpuTime.Use use(JsonNode user) {
        return new GpuTime.Use(
                new Owner(Owner.UNKNOWN.uid(), HostAnswer.name(user, "user").orElse("?")),
                hours(user, "gpu_hours"),
                hours(user, "idle_hours"),
                user.path("leases").asInt(),
                user.path("containers").asInt(),
                user.path("gpus_now").asDouble(),
                Instant.parse(HostAnswer.name(user, "last").orElse("")));
    }

    private static Duration hours(JsonNode user, String key) {
        return Duration.ofMillis(Math.round(user.path(key).asDouble() * HOUR_MILLIS));
    }
}
