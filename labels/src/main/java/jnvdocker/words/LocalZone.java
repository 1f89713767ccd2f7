package jnvdocker.words;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;
import java.time.zone.ZoneRulesProvider;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;

/**
 * A time zone, as the variable TZ names it: read as libc reads it, so that {@code UTC+3} is three
 * hours west of UTC. Times are read and shown in the zone of the user who is served ({@link
 * #current}).
 */
public final class LocalZone {
    private static final ScopedValue<LocalZone> CURRENT = ScopedValue.newInstance();
    private static final Path HOSTS = Path.of("/etc/localtime");
    private static final String DIRECTORY = "zoneinfo/";
    private static final DateTimeFormatter NAME = DateTimeFormatter.ofPattern("z", Locale.ENGLISH);

    private final ZoneRules rules;
    private final Function<Instant, String> name;

    LocalZone(ZoneRules rules, Function<Instant, String> name) {
        this.rules = rules;
        this.name = name;
    }

    private static LocalZone of(ZoneId zone) {
        return new LocalZone(zone.getRules(), instant -> NAME.format(instant.atZone(zone)));
    }

    /** This host's, for this process. */
    public static LocalZone host() {
        return of(ZoneId.systemDefault());
    }

    /** The zone of the user who is served by this thread; the host's where nobody is. */
    public static LocalZone current() {
        return CURRENT.orElse(host());
    }

    /** What is done in a zone. */
    public interface Work<X extends Throwable> {
        void run() throws X;
    }

    /** Does the work with this zone as the current one. */
    public <X extends Throwable> void during(Work<X> work) throws X {
        ScopedValue.where(CURRENT, this)
                .<Void, X>call(() -> {
                    work.run();
                    return null;
                });
    }

    /**
     * Reads the variable TZ: the name of a zone, the path of its file, or its rules as in POSIX.
     *
     * @return empty for a zone that is not known; libc takes such a one for UTC
     */
    public static Optional<LocalZone> parse(String text) {
        String plain = text.startsWith(":") ? text.substring(1) : text;
        if (plain.isEmpty()) {
            return Optional.of(of(ZoneOffset.UTC));
        }
        if (plain.equals(HOSTS.toString())) {
            return Optional.of(file());
        }
        return region(plain).or(() -> PosixZone.parse(plain));
    }

    /** The host's file, whatever TZ says in the environment of this process. */
    private static LocalZone file() {
        try {
            return region(HOSTS.toRealPath().toString()).orElseGet(LocalZone::host);
        } catch (IOException e) {
            return host();
        }
    }

    private static Optional<LocalZone> region(String text) {
        int directory = text.startsWith("/") ? text.indexOf(DIRECTORY) : -1;
        String id = directory < 0 ? text : text.substring(directory + DIRECTORY.length());
        return ZoneRulesProvider.getAvailableZoneIds().contains(id)
                ? Optional.of(of(ZoneId.of(id)))
                : Optional.empty();
    }

    /** What clocks in this zone show. */
    public LocalDateTime local(Instant instant) {
        return LocalDateTime.ofEpochSecond(
                instant.getEpochSecond(), instant.getNano(), rules.getOffset(instant));
    }

    /**
     * The first moment at which clocks show this; for a time that they leave out, as much later as
     * they are put forward.
     */
    public Instant first(LocalDateTime local) {
        return local.toInstant(rules.getOffset(local));
    }

    /** The last moment at which clocks show this. */
    public Instant last(LocalDateTime local) {
        ZoneOffsetTransition transition = rules.getTransition(local);
        return transition != null && transition.isOverlap()
                ? local.toInstant(transition.getOffsetAfter())
                : first(local);
    }

    /** A time in this zone, with the zone's name if the host's clocks show another time. */
    public String shown(DateTimeFormatter format, Instant instant) {
        boolean isHosts = rules.getOffset(instant).equals(host().rules.getOffset(instant));
        return format.format(local(instant)) + (isHosts ? "" : " " + name.apply(instant));
    }
}
