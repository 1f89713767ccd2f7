package jnvdocker.oci.install;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import com.fasterxml.jackson.core.util.Separators;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Docker's {@code daemon.json}. All other keys stay as they are, in their order:
 *
 * <pre>
 * "runtimes": {"nvidia": {"path": "/…/nvidia-container-runtime"}},
 * "default-runtime": "nvidia",
 * "node-generic-resources": ["NVIDIA-GPU=4"]
 * </pre>
 */
final class DaemonJson implements EngineSettings {
    private static final String RUNTIMES = "runtimes";
    private static final String STANDARD = "default-runtime";
    private static final String RESOURCES = "node-generic-resources";
    private static final String ARGUMENTS = "runtimeArgs";

    /** The beginning of a resource that says how many GPUs a node has, or names one of them. */
    private static final String GPUS = SwarmResources.KIND + "=";

    /** A container's {@code runc} is the engine's own. */
    private static final String PLAIN = "runc";

    private static final Pattern INDENT = Pattern.compile("\\{\\s*\\R([ \\t]+)\"");

    private static final JsonMapper MAPPER =
            JsonMapper.builder()
                    .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
                    .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
                    .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)
                    .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
                    .build();

    @Override
    public String with(String text, Entry entry) throws RefusedException {
        ObjectNode root = parse(text, entry.file());
        ObjectNode runtimes = objectIn(root, RUNTIMES, entry.file());
        JsonNode there = runtimes.get(entry.name());
        if (there != null && !isOurs(there, entry.program()) && !isLeft(there, entry.name())) {
            throw EngineSettings.taken(entry, entry.file(), shown(there));
        }
        runtimes.putObject(entry.name()).put("path", entry.program().toString());
        if (entry.standard()) {
            makeStandard(root, entry);
        } else if (standard(root).equals(entry.name()) || isStandardOurs(root, entry.program())) {
            root.remove(STANDARD);
        }
        if (!entry.resources().isEmpty()) {
            ArrayNode resources = listIn(root, RESOURCES, entry.file());
            removeGpus(resources);
            entry.resources().forEach(resources::add);
        }
        return print(root, text);
    }

    private static void makeStandard(ObjectNode root, Entry entry) throws RefusedException {
        String standard = standard(root);
        if (!List.of(PLAIN, entry.name()).contains(standard)
                && !isStandardOurs(root, entry.program())) {
            throw new RefusedException(
                    "%s has the default-runtime %s already"
                            .formatted(entry.file(), Quote.quoted(standard)),
                    "remove that key first; if containers need its program, name that with --real");
        }
        root.put(STANDARD, entry.name());
    }

    @Override
    public Optional<String> without(String text, Registration registration)
            throws RefusedException {
        ObjectNode root = parse(text, registration.config());
        if (root.get(RUNTIMES) instanceof ObjectNode runtimes) {
            Set<String> ours = names(root, registration);
            runtimes.remove(ours);
            if (ours.contains(standard(root))) {
                root.remove(STANDARD);
            }
            if (runtimes.isEmpty()) {
                root.remove(RUNTIMES);
            }
        }
        if (root.get(RESOURCES) instanceof ArrayNode resources) {
            removeGpus(resources);
            if (resources.isEmpty()) {
                root.remove(RESOURCES);
            }
        }
        return Optional.of(print(root, text));
    }

    @Override
    public Optional<Found> find(String text, Path file, String name) throws RefusedException {
        ObjectNode root = parse(text, file);
        JsonNode path = root.path(RUNTIMES).path(name).path("path");
        boolean standard = root.path(STANDARD).asText().equals(name);
        return Optional.of(path.asText())
                .filter(program -> program.startsWith("/"))
                .map(program -> new Found(Path.of(program), standard));
    }

    @Override
    public Optional<Path> standardProgram(String text, Path file) throws RefusedException {
        ObjectNode root = parse(text, file);
        String path = root.path(RUNTIMES).path(root.path(STANDARD).asText()).path("path").asText();
        return Optional.of(path).filter(program -> program.startsWith("/")).map(Path::of);
    }

    private static String standard(ObjectNode root) {
        String named = root.path(STANDARD).asText();
        return named.isEmpty() ? PLAIN : named;
    }

    /** The names that containers may have of our program: an earlier installation had another. */
    static Set<String> names(String text, Registration registration) throws RefusedException {
        return names(parse(text, registration.config()), registration);
    }

    private static Set<String> names(ObjectNode root, Registration registration) {
        Set<String> ours = new TreeSet<>();
        root.path(RUNTIMES)
                .properties()
                .forEach(each -> {
                    boolean isItsName = each.getKey().equals(registration.name());
                    if (isOurs(each.getValue(), registration.program())
                            || isItsName && isLeft(each.getValue(), each.getKey())) {
                        ours.add(each.getKey());
                    }
                });
        return ours;
    }

    /** Whether the default runtime of the file is a program of ours. */
    static boolean isStandardOurs(String text, Path file) throws RefusedException {
        ObjectNode root = parse(text, file);
        String path = root.path(RUNTIMES).path(standard(root)).path("path").asText();
        return RuntimeProgram.isOursAt(path);
    }

    private static boolean isStandardOurs(ObjectNode root, Path program) {
        return isOurs(root.path(RUNTIMES).path(standard(root)), program);
    }

    private static boolean isOurs(JsonNode runtime, Path program) {
        String path = runtime.path("path").asText();
        // With arguments docker runs a script of its own: the administrator's choice.
        return !runtime.has(ARGUMENTS)
                && (path.equals(program.toString()) || RuntimeProgram.isOursAt(path));
    }

    /** Whether that is the real runtime by our name, as an uninstallation leaves it. */
    private static boolean isLeft(JsonNode runtime, String name) {
        return !runtime.has(ARGUMENTS) && RealRuntime.isPlain(runtime.path("path").asText(), name);
    }

    private static String shown(JsonNode runtime) {
        String path = runtime.path("path").asText();
        return Quote.quoted(path.isEmpty() ? runtime.toString() : path)
                + (runtime.has(ARGUMENTS) ? " with " + ARGUMENTS : "");
    }

    /** The default runtime that the file names, if it is neither runc nor ours. */
    static Optional<String> otherStandard(String text, Path file, String name)
            throws RefusedException {
        boolean isOurs = isStandardOurs(text, file);
        String standard = standard(parse(text, file));
        return Optional.of(standard)
                .filter(other -> !other.equals(PLAIN) && !other.equals(name))
                .filter(_ -> !isOurs);
    }

    /** How many GPUs docker reports to Swarm by its file; empty where it reports no number. */
    static OptionalInt swarmGpus(String text, Path file) throws RefusedException {
        for (JsonNode each : parse(text, file).path(RESOURCES)) {
            String number =
                    each.asText().startsWith(GPUS) ? each.asText().substring(GPUS.length()) : "";
            if (number.matches("[0-9]{1,4}")) {
                return OptionalInt.of(Integer.parseInt(number));
            }
        }
        return OptionalInt.empty();
    }

    private static void removeGpus(ArrayNode resources) {
        resources.removeIf(each -> each.asText().startsWith(GPUS));
    }

    private static ObjectNode parse(String text, Path file) throws RefusedException {
        if (text.isBlank()) {
            return MAPPER.createObjectNode();
        }
        try {
            if (MAPPER.readTree(text) instanceof ObjectNode object) {
                return object;
            }
            throw new RefusedException(
                    file + " is not a JSON object", "fix it: {} is an empty one");
        } catch (JsonProcessingException e) {
            throw new RefusedException(
                    file
                            + ":"
                            + e.getLocation().getLineNr()
                            + " is not JSON: "
                            + Quote.shown(e.getOriginalMessage().split(" \\(start marker")[0]),
                    "fix it; nothing was changed");
        }
    }

    private static ObjectNode objectIn(ObjectNode root, String key, Path file)
            throws RefusedException {
        return switch (root.get(key)) {
            case ObjectNode object -> object;
            case null -> root.putObject(key);
            default -> throw mistyped(key, file, "an object");
        };
    }

    private static ArrayNode listIn(ObjectNode root, String key, Path file)
            throws RefusedException {
        return switch (root.get(key)) {
            case ArrayNode list -> list;
            case null -> root.putArray(key);
            default -> throw mistyped(key, file, "a list");
        };
    }

    private static RefusedException mistyped(String key, Path file, String type) {
        return new RefusedException(
                file + " has a \"" + key + "\" that is not " + type, "fix it; nothing was changed");
    }

    /** Indented as the file was. */
    private static String print(ObjectNode root, String before) {
        Matcher indent = INDENT.matcher(before);
        DefaultIndenter indenter =
                new DefaultIndenter(indent.find() ? indent.group(1) : "  ", "\n");
        Separators separators =
                Separators.createDefaultInstance()
                        .withObjectFieldValueSpacing(Separators.Spacing.AFTER);
        DefaultPrettyPrinter printer =
                new DefaultPrettyPrinter(separators)
                        .withObjectIndenter(indenter)
                        .withArrayIndenter(indenter);
        try {
            return MAPPER.writer(printer).writeValueAsString(root) + "\n";
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("a tree is always JSON", e);
        }
    }
}
