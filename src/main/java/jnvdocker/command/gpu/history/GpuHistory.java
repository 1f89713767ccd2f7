package jnvdocker.command.gpu.history;

import jnvdocker.command.caller.CommandOutcome;
import jnvdocker.command.caller.OwnCommand;
import jnvdocker.command.gpu.view.GpuView;
import jnvdocker.command.gpu.view.LeaseJson;
import jnvdocker.command.gpu.view.LeaseRow;
import jnvdocker.command.gpu.view.ListedLeases;
import jnvdocker.command.gpu.view.Moment;
import jnvdocker.command.hosts.HostQuery;
import jnvdocker.core.Leases;
import jnvdocker.host.Gpu;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.GpuTime;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.protocol.ExitCode;
import jnvdocker.registry.LeaseHistory;
import jnvdocker.registry.PastLeases;
import jnvdocker.request.GpuResolver;
import jnvdocker.screen.Json;
import jnvdocker.screen.Printout;
import jnvdocker.screen.Screen;
import jnvdocker.words.InvalidValueException;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;
import jnvdocker.words.ShellWord;

import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

@Command(
        name = "history",
        description = {
            "Show how long users have had GPUs: an hour of two GPUs is two GPU-hours.",
            "With --gpu, show one GPU alone, and list its leases."
        })
public final class GpuHistory extends OwnCommand {
    private static final String GPU = "--gpu";
    private static final String LIMIT = "--limit";
    private static final String GROUPS = "--groups";
    private static final int MAX = 100_000;

    private final GpuView view;
    private final Leases leases;
    private final Optional<Duration> kept;
    private final Optional<String> timeZone;
    private final Screen screen;
    private final Printout out;

    @Option(
            names = "--since",
            paramLabel = "WHEN",
            defaultValue = "30d",
            description =
                    "How long ago (30m, 1d12h, 2w), a date (2026-11-01, 2026-11-01T09:00), a day"
                            + " (yesterday, mon) or a time (9:00); ${DEFAULT-VALUE}.")
    private String since;

    @Option(
            names = "--until",
            paramLabel = "WHEN",
            description = "The end, written like --since; default: now.")
    private String until;

    @Option(
            names = "--month",
            paramLabel = "MONTH",
            description =
                    "A calendar month (2026-11, this, last), in place of --since and --until.")
    private String month;

    @Option(
            names = "--by",
            paramLabel = "user|group",
            defaultValue = "user",
            converter = Rows.class,
            description = "The rows: users, or their groups (--groups); ${DEFAULT-VALUE}.")
    private HistoryReport.By by;

    @Option(
            names = GROUPS,
            paramLabel = "GROUP",
            split = ",",
            description =
                    "With --by group: a user counts for the first of these that has the user, else"
                            + " for the user's own (as 'id -gn' prints it); default: the groups of"
                            + " [limits], in their order.")
    private List<String> groups;

    @Option(names = "--csv", description = "Print CSV, for spreadsheets.")
    private boolean csv;

    @Option(
            names = "--user",
            paramLabel = "USER",
            description = "Show only this user, by name or uid.")
    private String user;

    @Option(
            names = GPU,
            paramLabel = "GPU",
            description = "Show only this GPU, by index, UUID (or its beginning) or PCI address.")
    private String gpu;

    @Option(
            names = {"-n", LIMIT},
            paramLabel = "N",
            defaultValue = "20",
            description = "With --gpu: list at most N ended leases (${DEFAULT-VALUE}).")
    private int limit;

    @Option(names = "--json", description = "Print JSON, with full UUIDs and ids.")
    private boolean json;

    @Mixin private final HostQuery hosts;

    /** Words in lower case. */
    static final class Rows implements ITypeConverter<HistoryReport.By> {
        @Override
        public HistoryReport.By convert(String value) {
            try {
                return HistoryReport.By.of(value);
            } catch (InvalidValueException e) {
                throw new TypeConversionException(e.refusal().what());
            }
        }
    }

    /**
     * @param kept for how long the history is kept; empty if for ever
     * @param timeZone the client's variable TZ; empty if it has none
     */
    public GpuHistory(
            GpuView view,
            Optional<Duration> kept,
            Optional<String> timeZone,
            HostQuery hosts,
            Screen screen,
            Printout out) {
        this.view = view;
        this.leases = view.leases();
        this.kept = kept;
        this.timeZone = timeZone;
        this.hosts = hosts;
        this.screen = screen;
        this.out = out;
    }

    @Override
    public CommandOutcome call() throws IOException, RefusedException {
        checkLimit();
        checkCombinations();
        Instant from = month == null ? moment("--since", since) : month(0);
        Optional<Instant> end =
                month == null
                        ? Optional.ofNullable(until).map(it -> moment("--until", it))
                        : Optional.of(month(1));
        if (end.filter(it -> !from.isBefore(it)).isPresent()) {
            throw usage("--until " + until + " is not after --since " + since);
        }
        if (hosts.isRequested()) {
            return ofHosts(from, end);
        }
        Optional<String> uuid = gpu == null ? Optional.empty() : Optional.of(uuid());
        HistoryReport report =
                new HistoryReport(
                        time(leases, by, named(), from, end, uuid),
                        by,
                        end.isEmpty(),
                        Optional.ofNullable(user),
                        kept.map(span -> Instant.now().minus(span)).filter(from::isBefore),
                        List.of());
        try (var _ = out.reserve(PastLeases.MEMORY)) {
            Optional<ListedLeases> listed =
                    uuid.isPresent()
                            ? Optional.of(leasesOf(uuid.get(), from, report))
                            : Optional.empty();
            print(report, uuid, listed.map(its -> new LeaseJson.All(its, List.of())));
            if (!csv && !json && listed.isPresent() && !listed.get().isEmpty()) {
                out.println("");
                LeaseRow.withEnds(Instant.now()).print(listed.get(), screen, out::println);
            }
        }
        return CommandOutcome.OK;
    }

    private ListedLeases leasesOf(String uuid, Instant from, HistoryReport report)
            throws IOException {
        List<Lease> live =
                leases.live().reversed().stream()
                        .filter(lease ->
                                lease.claim().gpus().stream()
                                        .anyMatch(claimed -> claimed.uuid().equals(uuid)))
                        .filter(lease -> report.counts(lease.claim().owner()))
                        .toList();
        LeaseHistory history = leases.history();
        PastLeases past =
                new PastLeases(
                        (before, some) -> history.pastOf(uuid, from, report.owners(), before, some),
                        limit);
        return ListedLeases.of(live, past, leases);
    }

    private void print(HistoryReport report, Optional<String> uuid, Optional<LeaseJson.All> listed)
            throws IOException {
        if (json) {
            Json.print(report.json(uuid, listed), out, false);
            out.println("");
        } else {
            for (String line : csv ? report.csv() : report.lines(screen)) {
                out.println(line);
            }
        }
    }

    /** Something is wrong when the hours of a host are missing. */
    private CommandOutcome ofHosts(Instant from, Optional<Instant> end)
            throws IOException, RefusedException {
        Instant now = Instant.now();
        Optional<Instant> over = end.filter(now::isAfter);
        String command =
                "jnvdocker gpu history --json --by %s%s --since %s%s"
                        .formatted(
                                by.word(),
                                groups == null
                                        ? ""
                                        : " "
                                                + GROUPS
                                                + " "
                                                + ShellWord.quoted(String.join(",", groups)),
                                from,
                                over.map(until -> " --until " + until).orElse(""));
        HostsHistory history = HostsHistory.of(hosts.run(command), from, over.orElse(now));
        HistoryReport report =
                new HistoryReport(
                        history.time(),
                        by,
                        end.isEmpty(),
                        Optional.ofNullable(user),
                        history.keptSince(),
                        history.missing());
        print(report, Optional.empty(), Optional.empty());
        return new CommandOutcome.Exit(history.missing().isEmpty() ? ExitCode.OK : ExitCode.WRONG);
    }

    /**
     * @param groups for which users count by group, the first of them first
     */
    public static GpuTime time(
            Leases leases,
            HistoryReport.By by,
            Set<String> groups,
            Instant from,
            Optional<Instant> end,
            Optional<String> uuid)
            throws IOException {
        GpuTime time = leases.gpuTime(from, end, uuid);
        return switch (by) {
            case USER -> time;
            case GROUP ->
                    time.by(owner ->
                            new Owner(Owner.UNKNOWN.uid(), CountedGroup.of(owner, groups)));
        };
    }

    /** The groups of the limits have the members that an administrator counts together. */
    private Set<String> named() {
        return groups == null ? leases.rules().limits().groups() : new LinkedHashSet<>(groups);
    }

    private Instant moment(String option, String text) {
        try {
            return Moment.past(text, Instant.now(), timeZone);
        } catch (IllegalArgumentException e) {
            throw usage(option + ": " + e.getMessage());
        }
    }

    /** The beginning of the month, or of one that many months later. */
    private Instant month(int later) {
        try {
            return Moment.month(month, later, Instant.now(), timeZone);
        } catch (IllegalArgumentException e) {
            throw usage("--month: " + e.getMessage());
        }
    }

    private void checkCombinations() {
        if (month != null && (isTyped("--since") || until != null)) {
            throw usage("--month has a beginning and an end: leave out the others");
        }
        if (by != HistoryReport.By.USER && user != null) {
            throw usage("--user shows one user: leave out --by");
        }
        if (groups != null && by != HistoryReport.By.GROUP) {
            throw usage("--groups are for --by group");
        }
        if (hosts.isRequested() && gpu != null) {
            throw usage("--on adds up hours: leave out --gpu");
        }
        if (csv && json) {
            throw usage("choose --json or --csv");
        }
    }

    private void checkLimit() {
        if (isTyped(LIMIT) && gpu == null) {
            throw usage(LIMIT + " is about the leases of one GPU; add " + GPU);
        }
        if (limit < 0 || limit > MAX) {
            throw usage(LIMIT + " " + limit + " is not between 0 and " + MAX);
        }
    }

    /** A GPU that has left the host is found by its UUID, in the history. */
    private String uuid() throws IOException, RefusedException {
        String lower = gpu.toLowerCase(Locale.ROOT);
        List<Gpu> present = view.gpus();
        if (!GpuResolver.isUuid(gpu)) {
            return one(present).uuid();
        }
        List<Gpu> shown = leases.status(present).stream().map(GpuStatus::gpu).toList();
        Set<String> gone =
                leases.history().pastGpus().stream()
                        .filter(uuid -> uuid.toLowerCase(Locale.ROOT).startsWith(lower))
                        .collect(Collectors.toSet());
        shown.forEach(it -> gone.remove(it.uuid()));
        boolean isShown =
                shown.stream().anyMatch(it -> it.uuid().toLowerCase(Locale.ROOT).startsWith(lower));
        return !isShown && gone.size() == 1 ? gone.iterator().next() : one(shown).uuid();
    }

    private Gpu one(List<Gpu> gpus) throws RefusedException {
        List<Gpu> found = GpuResolver.resolve(List.of(gpu), gpus);
        if (found.size() > 1) {
            throw new RefusedException(
                    "--gpu " + Quote.shown(gpu) + " names " + found.size() + " GPUs", "name one");
        }
        return found.getFirst();
    }
}
