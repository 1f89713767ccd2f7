package jnvdocker.rest;

import jnvdocker.command.gpu.show.GpuDocuments;
import jnvdocker.command.gpu.view.GpuSettings;
import jnvdocker.core.Leases;
import jnvdocker.host.HostName;
import jnvdocker.page.Chart;
import jnvdocker.page.ChartJson;
import jnvdocker.screen.Json;
import jnvdocker.web.WebAnswer;
import jnvdocker.web.WebAnswer.Page;
import jnvdocker.web.WebPages;
import jnvdocker.web.WebRequest;
import jnvdocker.words.InvalidValueException;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/**
 * The pages about GPUs, leases and the queue. Clients that may open the daemon's socket get all of
 * them; over TCP, where every user of this host can connect, those that name nobody, unless the
 * configuration has names there.
 */
final class LeasePages implements WebPages {
    private static final String PREFIX = "/v2/";
    private static final Duration QUIET = Duration.ofSeconds(15);

    /** Over TCP, what root alone may see is shown to nobody. */
    private static final int NOBODY = -2;

    private static final Pattern NUMBER = Pattern.compile("[0-9]{1,5}");
    private static final int MOST_ENDED = 1000;
    private static final int MOST_HOURS = 24 * 400;

    private final GpuDocuments documents;
    private final EventFeed feed;
    private final Leases leases;
    private final Supplier<Map<String, List<Integer>>> utilization;
    private final GpuSettings settings;

    /**
     * @param utilization of each GPU in the last hour, by UUID
     */
    LeasePages(
            GpuDocuments documents,
            EventFeed feed,
            Leases leases,
            Supplier<Map<String, List<Integer>>> utilization,
            GpuSettings settings) {
        this.documents = documents;
        this.feed = feed;
        this.leases = leases;
        this.utilization = utilization;
        this.settings = settings;
    }

    @Override
    public Optional<WebAnswer> answer(WebRequest request) throws IOException {
        if (!request.path().startsWith(PREFIX)) {
            return Optional.empty();
        }
        String name = request.path().substring(PREFIX.length());
        boolean named = request.trusted() || settings.page().labels().getAsBoolean();
        try {
            Optional<WebAnswer> nameless = nameless(name, request, named);
            if (nameless.isPresent()) {
                return nameless;
            }
            return named ? naming(name, request) : Optional.of(refused());
        } catch (InvalidValueException e) {
            return Optional.of(new Page(400, WebAnswer.TEXT, e.refusal().message() + "\n"));
        }
    }

    /** Those that need not name anybody. */
    private Optional<WebAnswer> nameless(String name, WebRequest request, boolean named)
            throws IOException {
        return switch (name) {
            case "host" -> json(host(named));
            case "gpus" -> json(named ? documents.gpus() : documents.namelessGpus());
            case "utilization" -> json(utilization());
            case "chart" ->
                    json(
                            ChartJson.of(
                                    Chart.since(from(request, "hours", 24), leases.timeline()),
                                    leases.bookings().all(),
                                    named));
            default -> Optional.empty();
        };
    }

    private record HostDocument(String host, String now, boolean names) {}

    private record Utilization(String uuid, List<Integer> percent) {}

    /**
     * @param named whether the other documents name users
     */
    private String host(boolean named) throws IOException {
        return Json.text(
                new HostDocument(HostName.read(), leases.timeline().now().toString(), named));
    }

    private String utilization() {
        return Json.line(
                utilization.get().entrySet().stream()
                        .sorted(Map.Entry.comparingByKey())
                        .map(it -> new Utilization(it.getKey(), it.getValue()))
                        .toList());
    }

    private Optional<WebAnswer> naming(String name, WebRequest request) throws IOException {
        return switch (name) {
            case "leases" -> json(leases(request));
            case "queue" -> json(documents.queue());
            case "refusals" -> json(documents.refusals(request.uid().orElse(NOBODY)));
            case "history" ->
                    json(
                            documents.history(
                                    from(request, "days", 30),
                                    request.parameter("by").orElse("user"),
                                    settings.keepHistory().get()));
            case "why" ->
                    documents
                            .why(request.parameter("gpu").orElse(""), request.uid().orElse(NOBODY))
                            .flatMap(LeasePages::json);
            case "events" ->
                    Optional.of(
                            new WebAnswer.Stream(
                                    FeedStream.TYPE,
                                    new FeedStream(feed, request.lastEvent(), QUIET)));
            default -> Optional.empty();
        };
    }

    private String leases(WebRequest request) throws IOException {
        int ended = number(request, "ended", 0, MOST_ENDED);
        return ended == 0 ? documents.leases() : documents.leases(ended);
    }

    /** Returns the time that many hours or days ago. */
    private Instant from(WebRequest request, String parameter, int usual) {
        int hours = parameter.equals("days") ? 24 : 1;
        int number = number(request, parameter, usual, MOST_HOURS / hours);
        return leases.timeline().now().minus(Duration.ofHours((long) number * hours));
    }

    private static int number(WebRequest request, String parameter, int usual, int most) {
        String text = request.parameter(parameter).orElse(String.valueOf(usual));
        if (!NUMBER.matcher(text).matches() || Integer.parseInt(text) > most) {
            throw new InvalidValueException(
                    parameter + "=" + Quote.shown(text) + " is not a number from 0 to " + most,
                    "write such a number");
        }
        return Integer.parseInt(text);
    }

    private Page refused() {
        Refusal why =
                new Refusal(
                        "users are not named over TCP, which every user of this host can read",
                        "use "
                                + settings.page().socket()
                                + " ('jnvdocker gpu page' shows how), or set listen_labels");
        return new Page(403, WebAnswer.TEXT, why.message() + "\n");
    }

    private static Optional<WebAnswer> json(String document) {
        return Optional.of(Page.of(WebAnswer.JSON, document + "\n"));
    }
}
