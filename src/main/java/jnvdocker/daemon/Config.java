package jnvdocker.daemon;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.exc.MismatchedInputException;
import com.fasterxml.jackson.databind.exc.PropertyBindingException;
import com.fasterxml.jackson.dataformat.toml.TomlMapper;

import jnvdocker.lease.LeasePolicy;
import jnvdocker.mesos.agent.MesosPolicy;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.GpuResolver;
import jnvdocker.request.InvalidGpuRequestException;
import jnvdocker.words.InvalidValueException;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;
import jnvdocker.words.Span;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * The lab's configuration, {@code /etc/jnvdocker/config.toml}.
 *
 * @param defaultGpus what an image gets that asks for GPUs when its user does not say which
 * @param allowPrivileged whether a container with GPUs may be privileged, and so see them all
 * @param policy who may have which GPUs
 * @param ignore programs and images whose use of a GPU does not count, besides the built-in ones
 * @param socketGroup who may use the daemon besides root; empty is docker, else jnvdocker
 * @param keepHistory for how long a lease is kept after its end; empty keeps all
 * @param mesos what Mesos tasks get
 */
public record Config(
        GpuRequest defaultGpus,
        boolean allowPrivileged,
        LeasePolicy policy,
        List<String> ignore,
        String socketGroup,
        Optional<Duration> keepHistory,
        MesosPolicy mesos) {
    private static final int LIMIT = 1 << 20;

    /** 2.5 GPUs are not 2. */
    private static final TomlMapper TOML =
            TomlMapper.builder().disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT).build();

    /** So that a whole year can still be looked at in the month after it. */
    private static final String HISTORY = "400d";

    private static final Set<String> LISTS = Set.of("cordon", "ignore", "mesos_gpus");
    private static final Set<String> NUMBERS = Set.of("max_gpus_per_user", "max_waits_per_user");

    private static final Span.Limits WAITS = new Span.Limits(Duration.ofMinutes(1), Span.LONGEST);
    private static final Span.Limits HISTORIES = new Span.Limits(Duration.ofDays(1), Span.LONGEST);

    /** The file as it is written; the names are the keys. */
    private record Keys(
            @JsonProperty("default_gpus") String defaultGpus,
            @JsonProperty("max_gpus_per_user") Integer maxGpusPerUser,
            @JsonProperty("max_wait") String maxWait,
            @JsonProperty("max_waits_per_user") Integer maxWaitsPerUser,
            @JsonProperty("cordon") List<String> cordon,
            @JsonProperty("allow_privileged") boolean allowPrivileged,
            @JsonProperty("allow_unmanaged") boolean allowUnmanaged,
            @JsonProperty("ignore") List<String> ignore,
            @JsonProperty("socket_group") String socketGroup,
            @JsonProperty("keep_history") String keepHistory,
            @JsonProperty("mesos_gpus") List<String> mesosGpus,
            @JsonProperty("mesos_wait") String mesosWait) {
        static final Keys NONE =
                new Keys(null, null, null, null, null, false, false, null, null, null, null, null);

        Config values(Path file, String text) throws StartException {
            Values values = new Values(file, text);
            return new Config(
                    values.gpus(Objects.requireNonNullElse(defaultGpus, "all")),
                    allowPrivileged,
                    new LeasePolicy(
                            values.maxGpusPerUser(maxGpusPerUser),
                            values.maxWait(Optional.ofNullable(maxWait)),
                            values.maxWaitsPerUser(maxWaitsPerUser),
                            values.gpuIds("cordon", named(cordon)),
                            allowUnmanaged,
                            file.toString()),
                    named(ignore),
                    Objects.requireNonNullElse(socketGroup, ""),
                    values.history(Objects.requireNonNullElse(keepHistory, HISTORY)),
                    new MesosPolicy(
                            values.gpuIds("mesos_gpus", named(mesosGpus)),
                            values.mesosWait(Optional.ofNullable(mesosWait))));
        }

        private static List<String> named(List<String> names) {
            return Objects.requireNonNullElse(names, List.<String>of()).stream()
                    .filter(name -> name != null && !name.isBlank())
                    .toList();
        }
    }

    /** What values mean; one that means nothing is an error that names its place. */
    private record Values(Path file, String text) {

        GpuRequest gpus(String value) throws StartException {
            try {
                return GpuRequest.parseOption(value);
            } catch (InvalidGpuRequestException e) {
                throw bad(
                        "default_gpus",
                        Quote.quoted(value),
                        "what --gpus takes: write all, none, a number or device=<ids>",
                        e);
            }
        }

        OptionalInt maxGpusPerUser(Integer value) throws StartException {
            if (value != null && value < 1) {
                throw bad(
                        "max_gpus_per_user",
                        value.toString(),
                        "how many GPUs a user may have at a time: write 1 or more, or leave the key"
                                + " out",
                        null);
            }
            return value == null ? OptionalInt.empty() : OptionalInt.of(value);
        }

        int maxWaitsPerUser(Integer value) throws StartException {
            if (value != null && value < 1) {
                throw bad(
                        "max_waits_per_user",
                        value.toString(),
                        "how many times a user may wait for GPUs at a time: write 1 or more, or"
                                + " leave the key out, for "
                                + LeasePolicy.WAITS_PER_USER,
                        null);
            }
            return value == null ? LeasePolicy.WAITS_PER_USER : value;
        }

        Optional<Duration> maxWait(Optional<String> value) throws StartException {
            return value.isEmpty()
                    ? Optional.empty()
                    : Optional.of(span("max_wait", value.get(), WAITS, "or leave the key out"));
        }

        List<String> gpuIds(String key, List<String> ids) throws StartException {
            for (String id : ids) {
                if (!GpuResolver.isId(id)) {
                    throw bad(
                            key,
                            Quote.quoted(id),
                            "a GPU's index, UUID or PCI address: write it as 'jnvdocker gpu ls'"
                                    + " shows it",
                            null);
                }
            }
            return ids;
        }

        Duration mesosWait(Optional<String> value) throws StartException {
            return value.isEmpty()
                    ? MesosPolicy.WAIT
                    : span(
                            "mesos_wait",
                            value.get(),
                            MesosPolicy.WAITS,
                            "and keep well below the agent's --executor_registration_timeout");
        }

        Optional<Duration> history(String value) throws StartException {
            return value.equals("forever")
                    ? Optional.empty()
                    : Optional.of(span("keep_history", value, HISTORIES, "or write forever"));
        }

        private Duration span(String key, String value, Span.Limits limits, String besides)
                throws StartException {
            try {
                return Span.parse(value, limits);
            } catch (InvalidValueException e) {
                String where = at(file, text, key) + ": " + key + " = ";
                throw new StartException(
                        e.refusal().precededBy(where).followedBy(", " + besides), e);
            }
        }

        private StartException bad(String key, String value, String wanted, Exception cause) {
            String what = key + " = " + value + " is not " + wanted;
            return new StartException(Refusal.of(at(file, text, key) + ": " + what), cause);
        }
    }

    /**
     * @throws StartException naming the file, the line and the key that is wrong
     */
    static Config read(Path file, boolean required) throws IOException {
        if (!Files.exists(file)) {
            if (required) {
                throw new StartException(
                        "there is no " + file + ", which JNVDOCKER_CONFIG names",
                        "make it, or unset the variable");
            }
            return Keys.NONE.values(file, "");
        }
        if (Files.size(file) > LIMIT) {
            throw new StartException(
                    file + " is longer than " + LIMIT + " bytes",
                    "let JNVDOCKER_CONFIG name the config");
        }
        try {
            return parse(Files.readString(file), file);
        } catch (CharacterCodingException e) {
            throw new StartException(file + " is not UTF-8 text", "save it as that", e);
        }
    }

    static Config parse(String text, Path file) throws StartException {
        try {
            return TOML.readValue(text, Keys.class).values(file, text);
        } catch (PropertyBindingException e) {
            throw new StartException(
                    at(file, text, e.getPropertyName())
                            + ": unknown key "
                            + Quote.quoted(e.getPropertyName()),
                    "known are " + new TreeSet<>(e.getKnownPropertyIds()),
                    e);
        } catch (JsonMappingException e) {
            String first = e.getPath().isEmpty() ? "" : e.getPath().getFirst().getFieldName();
            String key = Objects.requireNonNullElse(first, "");
            throw new StartException(
                    at(file, text, key)
                            + ": the value of "
                            + Quote.quoted(key)
                            + " is of the wrong kind",
                    "write " + kind(key, e),
                    e);
        } catch (StreamConstraintsException e) {
            // Its own words name the library's classes, and no line.
            throw new StartException(
                    file + ": something is nested too deep or too long",
                    "let JNVDOCKER_CONFIG name the config",
                    e);
        } catch (JsonProcessingException e) {
            String line = e.getLocation() == null ? "" : ":" + e.getLocation().getLineNr();
            String what = file + line + ": " + Quote.shown(e.getOriginalMessage());
            throw new StartException(Refusal.of(what), e);
        }
    }

    private static String kind(String key, JsonMappingException e) {
        if (LISTS.contains(key)) {
            return "a list, as [\"name\", \"another\"]";
        }
        if (NUMBERS.contains(key)) {
            return "a whole number";
        }
        boolean choice =
                e instanceof MismatchedInputException mismatch
                        && mismatch.getTargetType() == boolean.class;
        return choice ? "true or false" : "text in quotes";
    }

    /** The library forgets the lines once it has read them, so the key's is looked for. */
    private static String at(Path file, String text, String key) {
        // key = value, key.more = value, [key]
        Pattern assignment =
                Pattern.compile("[\\s\\[\"']*" + Pattern.quote(key) + "[\"']?\\s*[=.\\]]");
        List<String> lines = text.lines().toList();
        for (int i = 0; i < lines.size(); i++) {
            if (assignment.matcher(lines.get(i)).lookingAt()) {
                return file + ":" + (i + 1);
            }
        }
        return file.toString();
    }
}
