package jnvdocker.daemon;

import jnvdocker.command.hosts.HostQuery;
import jnvdocker.config.ConfigFile;
import jnvdocker.config.ConfigTable;
import jnvdocker.config.ConfigTables;
import jnvdocker.config.ConfigValues;
import jnvdocker.config.StartException;
import jnvdocker.lease.BookingRule;
import jnvdocker.lease.LeasePolicy;
import jnvdocker.lease.ObserverPolicy;
import jnvdocker.lease.Rule;
import jnvdocker.lease.text.ContainerOwner;
import jnvdocker.oci.install.OwnConfig;
import jnvdocker.posix.RegularFile;
import jnvdocker.program.TrustedDirectory;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.InvalidGpuRequestException;
import jnvdocker.use.ImageNames;
import jnvdocker.web.ListenAddress;
import jnvdocker.words.InvalidValueException;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;
import jnvdocker.words.Span;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The configuration, {@code /etc/jnvdocker/config.toml}.
 *
 * @param defaultGpus the GPUs for an image that requests GPUs, if its user does not choose any
 * @param allowPrivileged whether a container with GPUs may be privileged, and so see them all
 * @param policy the rules on which owners may have which GPUs
 * @param ignore programs and images whose use of a GPU does not count, besides the built-in ones
 * @param driverDirectories where the driver's libraries are besides the usual places
 * @param socketGroup the group that may use the daemon besides root; empty is docker, else
 *     jnvdocker
 * @param keepHistory how long a lease is kept after its end; empty keeps all
 * @param idleWarn for how long a held GPU is idle when that is logged; empty if it never is
 * @param notifyDirectories directories of programs that are run for each event
 * @param hosts that {@code --on all} means
 * @param stopOverdue whether the holder of an overdue lease is stopped
 * @param envSelects whether a variable of the user's chooses a container's GPUs
 * @param runtime the policy for containers that our OCI runtime creates
 * @param web the policy for questions over HTTP
 * @param features what the tables of the features say
 */
public record Config(
        GpuRequest defaultGpus,
        boolean allowPrivileged,
        LeasePolicy policy,
        List<String> ignore,
        List<String> driverDirectories,
        String socketGroup,
        Optional<Duration> keepHistory,
        Optional<Duration> idleWarn,
        List<Path> notifyDirectories,
        List<String> hosts,
        boolean stopOverdue,
        boolean envSelects,
        RuntimePolicy runtime,
        WebPolicy web,
        ConfigTables features) {
    private static final int LIMIT = 1 << 20;

    /** The history of a whole year can still be shown in the month after it. */
    private static final Duration HISTORY = Duration.ofDays(400);

    private static final Span.Limits IDLE = new Span.Limits(Duration.ofMinutes(5), Span.LONGEST);
    private static final Span.Limits HOLD =
            new Span.Limits(Duration.ofMinutes(1), Duration.ofDays(7));
    private static final Span.Limits BOOKING =
            new Span.Limits(Duration.ofMinutes(1), Duration.ofDays(90));
    private static final Span.Limits HISTORIES = new Span.Limits(Duration.ofDays(1), Span.LONGEST);

    /**
     * @param tables of the features
     * @throws StartException naming the file, the line and the wrong key
     */
    static Config read(Path file, boolean required, List<ConfigTable<?>> tables)
            throws IOException {
        OwnConfig own = new OwnConfig(file);
        refuseUnlessRoots(own.directory());
        List<ConfigFile.Part> parts = new ArrayList<>();
        for (Path each : own.files()) {
            Optional<byte[]> bytes = RegularFile.readConfiguration(each, LIMIT);
            if (bytes.isPresent()) {
                refuseUnlessRoots(each.toRealPath().getParent());
                parts.add(ConfigFile.parse(text(bytes.get(), each), each));
            } else if (required && each.equals(file)) {
                throw new StartException(
                        "there is no " + file + ", which JNVDOCKER_CONFIG names",
                        "make it, or unset the variable");
            }
        }
        return of(ConfigFile.of(parts), tables);
    }

    /** A user that can write to such a directory can replace what is in it. */
    private static void refuseUnlessRoots(Path directory) throws IOException {
        try {
            TrustedDirectory.check(directory);
        } catch (RefusedException e) {
            throw new StartException(e.refusal(), e);
        }
    }

    private static String text(byte[] bytes, Path file) throws StartException {
        try {
            String text =
                    StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
            if (text.startsWith("\ufeff")) {
                throw new StartException(
                        file + " begins with a byte order mark",
                        "save it as UTF-8 without one: sed -i '1s/^\\xef\\xbb\\xbf//' " + file);
            }
            return text;
        } catch (CharacterCodingException e) {
            throw new StartException(file + " is not UTF-8 text", "save it as that", e);
        }
    }

    static Config of(ConfigFile written, List<ConfigTable<?>> tables) throws StartException {
        ConfigTables features = ConfigTables.read(written, tables);
        Config config =
                new Config(
                        gpus(written.at("default_gpus")),
                        written.at("allow_privileged").choice(),
                        policy(written),
                        ConfigValues.words(written.at("ignore").list()),
                        directories(written.at("driver_directories"), "the driver's libraries"),
                        written.at("socket_group").text().orElse(""),
                        history(written.at("keep_history")),
                        ConfigValues.span(written.at("idle_warn"), IDLE, "or leave the key out"),
                        directories(written.at("notify"), "programs").stream()
                                .map(Path::of)
                                .toList(),
                        hosts(written.at("hosts")),
                        written.at("stop_overdue").choice(),
                        written.at("env_selects").choiceUnlessSaid(),
                        runtime(written.in("runtime")),
                        new WebPolicy(
                                listen(written.at("listen")), written.at("listen_labels").choice()),
                        features);
        written.refuseOthers();
        config.refuseShortHistory(written.at("keep_history"));
        return config;
    }

    /** A sum of hours, or what is kept after a stop, is lost with the leases that it is read of. */
    private void refuseShortHistory(ConfigFile.Entry entry) throws StartException {
        Duration kept = policy.holdAfterStop().orElse(Duration.ZERO);
        List<Rule<Duration>> hours =
                Stream.of(policy.limits().perWeek(), policy.limits().perDay())
                        .flatMap(List::stream)
                        .filter(rule -> rule.value().isPresent())
                        .toList();
        // A day or a week has an hour more when the clock is set back.
        int days = policy.limits().perWeek().stream().anyMatch(hours::contains) ? 8 : 2;
        Duration least = (hours.isEmpty() ? Duration.ZERO : Duration.ofDays(days)).plus(kept);
        if (keepHistory.isPresent() && keepHistory.get().compareTo(least) < 0) {
            String why =
                    hours.isEmpty()
                            ? "hold_after_stop"
                            : hours.getFirst().key() + " in " + hours.getFirst().place();
            throw entry.refusal(
                    new Refusal(
                            Quote.quoted(entry.word())
                                    + " is too short for "
                                    + why
                                    + ", which counts leases that have ended",
                            "write " + Span.spelled(least) + " or more"),
                    null);
        }
    }

    private static RuntimePolicy runtime(ConfigFile written) throws StartException {
        List<String> swarm = ConfigValues.words(written.at("swarm_resources").list());
        return new RuntimePolicy(
                written.at("image_need").oneOf(List.of("default_gpus", "none")).equals("none"),
                allMeans(written.at("all_means")),
                written.at("busy_restart").oneOf(List.of("retry", "refuse")).equals("retry"),
                ConfigValues.absolute(written.at("real"), "that of runc or crun"),
                written.at("cdi_nvidia").choiceUnlessSaid(),
                trusted(written.at("trust_owner")),
                swarm.isEmpty() ? RuntimePolicy.SWARM_RESOURCES : Set.copyOf(swarm),
                observers(written.at("observers")));
    }

    private static ObserverPolicy observers(ConfigFile.Entry entry) throws StartException {
        Set<String> images = new HashSet<>();
        Set<String> users = new HashSet<>();
        for (ConfigFile.Entry each : entry.list()) {
            String word = each.word();
            boolean user = word.startsWith(ObserverPolicy.USER);
            String name = user ? word.substring(ObserverPolicy.USER.length()) : word;
            if (name.isBlank()) {
                throw each.refusal(
                        new Refusal(
                                Quote.quoted(word) + " names neither an image nor a user",
                                "write dcgm-exporter, or user:alice"),
                        null);
            }
            (user ? users : images).add(name);
        }
        return new ObserverPolicy(new ImageNames(images), users);
    }

    private static Set<ContainerOwner.Trust> trusted(ConfigFile.Entry entry) throws StartException {
        Set<ContainerOwner.Trust> trusted = EnumSet.noneOf(ContainerOwner.Trust.class);
        List<ContainerOwner.Trust> all = List.of(ContainerOwner.Trust.values());
        for (ConfigFile.Entry each : entry.list()) {
            String word = each.oneOf(all.stream().map(ContainerOwner.Trust::word).toList());
            all.stream().filter(it -> it.word().equals(word)).forEach(trusted::add);
        }
        return trusted;
    }

    private static Optional<ListenAddress> listen(ConfigFile.Entry entry) throws StartException {
        Optional<String> text = entry.text().filter(it -> !it.isBlank());
        try {
            return text.map(ListenAddress::parse);
        } catch (InvalidValueException e) {
            throw entry.refusal(e.refusal(), e);
        }
    }

    private static GpuRequest allMeans(ConfigFile.Entry entry) throws StartException {
        GpuRequest means = gpus(entry);
        return switch (means) {
            case GpuRequest.All _, GpuRequest.Count _ -> means;
            case GpuRequest.None _, GpuRequest.Devices _, GpuRequest.With _ ->
                    throw entry.refusal(
                            Refusal.of(
                                    Quote.quoted(means.toString())
                                            + " is not a valid value: write all or a number"),
                            null);
        };
    }

    private static LeasePolicy policy(ConfigFile written) throws StartException {
        return new LeasePolicy(
                ConfiguredLimits.read(written),
                ConfigValues.oneOrMore(
                                written.at("max_waits_per_user"),
                                "how many times a user may wait for GPUs at a time",
                                ", for " + LeasePolicy.WAITS_PER_USER)
                        .orElse(LeasePolicy.WAITS_PER_USER),
                ConfigValues.gpuIds(written.at("cordon")),
                ConfigValues.gpuIds(written.at("shareable")),
                written.at("allow_unmanaged").choice(),
                ConfigValues.span(written.at("hold_after_stop"), HOLD, "or leave the key out"),
                new BookingRule(
                        bookings(written.at("bookings")),
                        ConfigValues.span(
                                        written.at("max_booking"), BOOKING, "or leave the key out")
                                .orElse(BookingRule.NONE.longest())));
    }

    private static BookingRule.Kind bookings(ConfigFile.Entry entry) throws StartException {
        String value = entry.text().orElse("none");
        return switch (value) {
            case "none" -> BookingRule.Kind.NONE;
            case "end" -> BookingRule.Kind.END;
            case "refuse" -> BookingRule.Kind.REFUSE;
            default ->
                    throw entry.refusal(
                            Refusal.of(
                                    Quote.quoted(value)
                                            + " is not a valid value: write none, end or refuse"),
                            null);
        };
    }

    /** Any request but for another's GPUs: no container is the one that everybody joins. */
    private static GpuRequest gpus(ConfigFile.Entry entry) throws StartException {
        String value = entry.text().orElse("all");
        InvalidGpuRequestException cause = null;
        try {
            GpuRequest gpus = GpuRequest.parseOption(value);
            if (!(gpus instanceof GpuRequest.With)) {
                return gpus;
            }
        } catch (InvalidGpuRequestException e) {
            cause = e;
        }
        throw entry.refusal(
                Refusal.of(
                        Quote.quoted(value)
                                + " is not a valid value: write all, none, a number,"
                                + " device=<ids> or count=2,memory=40G"),
                cause);
    }

    private static List<String> hosts(ConfigFile.Entry entry) throws StartException {
        for (ConfigFile.Entry host : entry.list()) {
            if (!HostQuery.isHost(host.word())) {
                throw host.refusal(
                        new Refusal(
                                Quote.quoted(host.word()) + " is not the name of a host",
                                "write it as ssh takes it"),
                        null);
            }
        }
        return ConfigValues.words(entry.list());
    }

    private static List<String> directories(ConfigFile.Entry entry, String what)
            throws StartException {
        for (ConfigFile.Entry directory : entry.list()) {
            if (!directory.word().startsWith("/")) {
                throw directory.refusal(
                        new Refusal(
                                Quote.quoted(directory.word()) + " is not an absolute path",
                                "write that of a directory with " + what),
                        null);
            }
        }
        return ConfigValues.words(entry.list());
    }

    private static Optional<Duration> history(ConfigFile.Entry entry) throws StartException {
        String forever = "forever";
        return entry.text().filter(forever::equals).isPresent()
                ? Optional.empty()
                : Optional.of(
                        ConfigValues.span(entry, HISTORIES, "or write " + forever).orElse(HISTORY));
    }
}
