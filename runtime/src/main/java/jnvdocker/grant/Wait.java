package jnvdocker.grant;

import jnvdocker.holder.Pace;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Request;
import jnvdocker.lease.Rule;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.words.RefusedException;
import jnvdocker.words.Span;

import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Supplier;

/** A client's wait in the queue, until it has been given its lease. */
final class Wait {
    /** News wakes the client; this limits a wait without any. */
    private static final Duration LONGEST = Duration.ofSeconds(10);

    private final OpenRequest open;
    private final Request request;
    private final Waiting waiting;
    private final Optional<Duration> limit;
    private final Place place;
    private final Optional<Rule<Duration>> longest;
    private final Pace pace;
    private String said = "";

    /**
     * @param limit how long the client wants to wait, or may
     * @param longest how long its user may, if a rule says so
     */
    Wait(
            OpenRequest open,
            Waiting waiting,
            Optional<Duration> limit,
            Place place,
            Optional<Rule<Duration>> longest,
            Pace pace) {
        this.open = open;
        request = open.request();
        this.waiting = waiting;
        this.limit = limit;
        this.place = place;
        this.longest = longest;
        this.pace = pace;
    }

    /**
     * @throws RefusedException when the time is up, or the client can never be served
     * @throws IOException when the client has ended meanwhile, and needs no answer
     */
    Lease await() throws RefusedException, IOException {
        while (true) {
            long seen = place.news().count();
            Optional<Lease> lease = place.given();
            if (lease.isPresent()) {
                // Its place is open again before others are served what it gives back.
                if (open.isThere(lease.get(), place::giveBack)) {
                    reportTheEnd(lease.get().claim());
                    return lease.get();
                }
                continue;
            }
            if (place.isOver()) {
                throw new IOException("the client (pid " + request.client().pid() + ") is gone");
            }
            if (place.standing().isPresent()) {
                report(place.standing().get());
            }
            Duration left = limit.map(it -> it.minus(waited())).orElse(LONGEST);
            if (!left.isPositive()) {
                return atTheEnd();
            }
            pace.sleep(left.compareTo(LONGEST) < 0 ? left : LONGEST, place.news(), seen);
            if (Thread.currentThread().isInterrupted()) {
                throw new IOException("the daemon is stopping");
            }
        }
    }

    /** The lease that the client was given at the last moment. */
    private Lease atTheEnd() throws RefusedException, IOException {
        Optional<Lease> lease = place.close();
        if (lease.isPresent() && open.isThere(lease.get())) {
            return lease.get();
        }
        Optional<Place.Standing> standing = place.standing();
        if (standing.isPresent()) {
            throw gaveUp(standing.get().reason());
        }
        // Nobody has looked at its place: its time may have passed while no daemon ran.
        return switch (open.decide(open.before(place))) {
            case Grants.Granted(Lease its) -> {
                if (!open.isThere(its)) {
                    throw gaveUp(LeaseText.vanished(its.claim().gpus()));
                }
                yield its;
            }
            case Grants.Refused(Supplier<RefusedException> why) -> throw why.get();
            case Grants.Blocked(_, Supplier<RefusedException> why) ->
                    throw gaveUp(why.get().refusal().what());
        };
    }

    private void report(Place.Standing standing) throws IOException {
        String text =
                "waiting for "
                        + LeaseText.requested(request.requested().request())
                        + ", "
                        + (standing.number() == 1 ? "next" : "number " + standing.number())
                        + " in the queue"
                        + longest(", for ", " at most")
                        + "; "
                        + standing.reason()
                        + standing.obstacle()
                                .map(_ ->
                                        "; others are served meanwhile"
                                                + (standing.unnamed().isEmpty()
                                                        ? ""
                                                        : ": " + standing.unnamed()))
                                .orElse("");
        if (!text.equals(said)) {
            said = text;
            waiting.listener().report(text);
        }
    }

    private RefusedException gaveUp(String reason) {
        String longest = longest("", "");
        return new RefusedException(
                "gave up after "
                        + (longest.isEmpty() ? Span.spelled(limit.orElseThrow()) : longest)
                        + ": "
                        + reason,
                switch (request.origin().kind()) {
                    case ENGINE, PROCESS, OCI ->
                            "wait "
                                    + (longest.isEmpty() ? "longer" : "again")
                                    + " with "
                                    + waiting.source();
                    case POD ->
                            "the kubelet tries again ('jnvdocker gpu ls' shows who holds the GPUs)";
                    case MESOS ->
                            "start the task again later ('jnvdocker gpu ls' shows who holds the"
                                    + " GPUs)";
                });
    }

    /** The limit of the configuration, if that ends the wait. */
    private String longest(String before, String after) {
        return waiting.limit().isPresent() || limit.isEmpty()
                ? ""
                : before
                        + Span.spelled(limit.get())
                        + after
                        + " ("
                        + longest.orElseThrow().key()
                        + ")";
    }

    private void reportTheEnd(Claim claim) throws IOException {
        if (!said.isEmpty()) {
            waiting.listener()
                    .report(
                            "got %s after %s"
                                    .formatted(LeaseText.names(claim.gpus()), Span.text(waited())));
        }
    }

    private Duration waited() {
        return Duration.ofNanos(pace.nanos() - place.began());
    }
}
