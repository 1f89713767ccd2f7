package jnvdocker.config;

import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;
import jnvdocker.words.Typo;

import org.tomlj.Toml;
import org.tomlj.TomlArray;
import org.tomlj.TomlParseError;
import org.tomlj.TomlParseOptions;
import org.tomlj.TomlParseResult;
import org.tomlj.TomlPosition;
import org.tomlj.TomlTable;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;

/**
 * The configuration as written, in one file or several: the values of its keys, and their lines.
 */
public final class ConfigFile {
    /** How many known keys a message may list. */
    private static final int FEW = 10;

    /** How many letters at their beginnings make two keys similar, and how many are named. */
    private static final int ALIKE = 5;

    private static final int MEANT = 2;

    /** What is written in place of a key that is easily expected. */
    private static final Map<String, String> INSTEAD =
            Map.of(
                    "max_gpus_per_user", "\"*\" = { gpus = 2 } below a line [limits]",
                    "max_wait", "\"*\" = { max_wait = \"12h\" } below a line [limits]");

    private final List<Part> parts;

    /** The prefix of its keys, for messages: {@code runtime.} in the table of that name. */
    private final String prefix;

    private final Set<String> known = new TreeSet<>();
    private final List<ConfigFile> tables = new ArrayList<>();

    private ConfigFile(List<Part> parts, String prefix) {
        this.parts = parts;
        this.prefix = prefix;
    }

    /** The content of one file, or of a table in it. */
    public record Part(Path path, TomlTable table) {
        private String place(String key) {
            return ConfigFile.place(path, table.inputPositionOf(List.of(key)));
        }
    }

    /**
     * @param parts one for each file: a key in a later one overrides that in an earlier one
     */
    public static ConfigFile of(List<Part> parts) {
        return new ConfigFile(parts, "");
    }

    /**
     * @throws StartException naming the line that is not TOML
     */
    public static Part parse(String text, Path path) throws StartException {
        TomlParseResult table = Toml.parse(text, TomlParseOptions.sourceless());
        if (table.hasErrors()) {
            TomlParseError first = table.errors().getFirst();
            String why = Quote.shown(first.getMessage());
            throw new StartException(Refusal.of(place(path, first.position()) + ": " + why), first);
        }
        return new Part(path, table);
    }

    private static String place(Path path, TomlPosition position) {
        return path + ":" + position.line();
    }

    /** Returns the value of a key, which counts as known from then on. */
    public Entry at(String key) {
        known.add(key);
        for (Part part : parts.reversed()) {
            Object value = part.table().get(List.of(key));
            if (value != null) {
                return new Entry(prefix + key, Optional.of(value), part.path(), part.place(key));
            }
        }
        return new Entry(prefix + key, Optional.empty(), Path.of(""), "");
    }

    /**
     * Returns the content of a table, {@code [name]}, which counts as known from then on.
     *
     * @throws StartException when its name has another value
     */
    public ConfigFile in(String name) throws StartException {
        known.add(name);
        List<Part> its = new ArrayList<>();
        for (Part part : parts) {
            Object value = part.table().get(List.of(name));
            if (value instanceof TomlTable table) {
                its.add(new Part(part.path(), table));
            } else if (value != null) {
                throw new StartException(
                        part.place(name) + ": " + Quote.quoted(prefix + name) + " is a table",
                        "write its keys below a line [" + prefix + bare(name) + "]");
            }
        }
        ConfigFile found = new ConfigFile(its, prefix + name + ".");
        tables.add(found);
        return found;
    }

    private static String bare(String name) {
        return name.matches("[A-Za-z0-9_-]+") ? name : '"' + Quote.shown(name) + '"';
    }

    /** Returns the keys in the order in which they count: those of a later file come first. */
    public List<String> keys() {
        Comparator<TomlPosition> order =
                Comparator.comparingInt(TomlPosition::line).thenComparingInt(TomlPosition::column);
        return parts.reversed().stream()
                .flatMap(part ->
                        part.table().keySet().stream()
                                .sorted(
                                        Comparator.comparing(
                                                key -> part.table().inputPositionOf(List.of(key)),
                                                order)))
                .distinct()
                .toList();
    }

    /**
     * @throws StartException when there is an unknown key
     */
    public void refuseOthers() throws StartException {
        refuseOthers(this);
    }

    private void refuseOthers(ConfigFile whole) throws StartException {
        for (ConfigFile its : tables) {
            its.refuseOthers(whole);
        }
        for (Part part : parts) {
            for (String key : part.table().keySet()) {
                if (!known.contains(key)) {
                    throw new StartException(
                            part.place(key) + ": unknown key " + Quote.quoted(prefix + key),
                            whole.place(key).orElseGet(() -> instead(key)));
                }
            }
        }
    }

    /** The keys and tables that were read, whether they are in the file or not. */
    public Set<String> known() {
        return Set.copyOf(known);
    }

    /** The keys that may be meant; all of them if they are few. */
    private String instead(String key) {
        if (known.size() <= FEW) {
            return "known are " + known;
        }
        List<String> nearest = Typo.of(key, known);
        List<String> similar =
                nearest.isEmpty()
                        ? known.stream().filter(it -> isAlike(it, key)).limit(MEANT).toList()
                        : nearest;
        return similar.isEmpty()
                ? "jnvdocker.toml(5) has the known ones"
                : "did you mean " + String.join(" or ", similar) + "?";
    }

    private static boolean isAlike(String known, String key) {
        return known.regionMatches(true, 0, key, 0, ALIKE) || known.contains(key);
    }

    /** Returns where in the file a key belongs that stands in another part of it. */
    private Optional<String> place(String key) {
        if (INSTEAD.containsKey(key)) {
            return Optional.of("write " + INSTEAD.get(key));
        }
        for (ConfigFile its : tables) {
            String name = its.prefix.replace(".", "");
            String rest = key.substring(Math.min(key.length(), name.length() + 1));
            if (key.equals(name + "_" + rest) && its.known.contains(rest)) {
                return Optional.of("write " + rest + " below a line [" + name + "]");
            }
        }
        if (known.contains(key)) {
            return Optional.of("move '" + key + "' above the first line in brackets");
        }
        List<String> places =
                tables.stream()
                        .filter(its -> its.known.contains(key))
                        .map(its -> "[" + its.prefix.replace(".", "") + "]")
                        .toList();
        return places.isEmpty()
                ? Optional.empty()
                : Optional.of("move '" + key + "' below a line " + String.join(" or ", places));
    }

    /**
     * The value of a key, or an element of its list. A number may be given as a text, and vice
     * versa: quotes are easily forgotten.
     */
    public static final class Entry {
        private final String key;
        private final Optional<Object> value;
        private final Path path;
        private final String place;

        private Entry(String key, Optional<Object> value, Path path, String place) {
            this.key = key;
            this.value = value;
            this.path = path;
            this.place = place;
        }

        public String key() {
            return key;
        }

        /** Whether the value is that word. */
        public boolean is(String word) {
            return value.filter(word::equals).isPresent();
        }

        /** {@code /etc/jnvdocker/config.toml:12}; empty without a value. */
        public String place() {
            return place;
        }

        public Optional<String> text() throws StartException {
            refuseUnlessScalar("text in quotes");
            return value.map(Object::toString);
        }

        private void refuseUnlessScalar(String kind) throws StartException {
            if (value.orElse("") instanceof TomlTable || value.orElse("") instanceof TomlArray) {
                throw isNo(kind);
            }
        }

        /** Returns the text of an element of a list. */
        public String word() {
            return value.orElseThrow().toString();
        }

        /** Whether there is no value, or a blank text. */
        private boolean isBlank() {
            return value.filter(it -> !(it instanceof String text && text.isBlank())).isEmpty();
        }

        public OptionalInt number() throws StartException {
            try {
                return isBlank()
                        ? OptionalInt.empty()
                        : OptionalInt.of(Integer.parseInt(word().strip()));
            } catch (NumberFormatException e) {
                throw isNo("a whole number");
            }
        }

        /** Returns a boolean value; false if there is none. */
        public boolean choice() throws StartException {
            return switch (isBlank() ? false : value.get()) {
                case Boolean choice -> choice;
                case Long number -> number != 0;
                case String text when text.strip().equalsIgnoreCase("true") -> true;
                case String text when text.strip().equalsIgnoreCase("false") -> false;
                default -> throw isNo("true or false");
            };
        }

        /** Returns a boolean value; true if there is none. */
        public boolean choiceUnlessSaid() throws StartException {
            return isBlank() || choice();
        }

        /**
         * Returns one of some words, in lower case.
         *
         * @param words the first is the default
         */
        public String oneOf(List<String> words) throws StartException {
            String word =
                    text().map(String::strip).filter(it -> !it.isEmpty()).orElse(words.getFirst());
            if (!words.contains(word)) {
                throw refusal(
                        Refusal.of(
                                Quote.quoted(word)
                                        + " is not a valid value: write "
                                        + String.join(" or ", words)),
                        null);
            }
            return word;
        }

        /** Returns the elements of a list that are not blank. */
        public List<Entry> list() throws StartException {
            String kind = "a list, as [\"name\", \"another\"]";
            if (isBlank()) {
                return List.of();
            }
            if (!(value.get() instanceof TomlArray array)) {
                throw isNo(kind);
            }
            List<Entry> entries = new ArrayList<>();
            for (int i = 0; i < array.size(); i++) {
                String at = ConfigFile.place(path, array.inputPositionOf(i));
                Entry entry = new Entry(key, Optional.of(array.get(i)), path, at);
                entry.refuseUnlessScalar(kind);
                entries.add(entry);
            }
            return entries.stream().filter(entry -> !entry.word().isBlank()).toList();
        }

        /**
         * @param why the text after {@code key =}: the value, what it is not, and what to write
         */
        public StartException refusal(Refusal why, Exception cause) {
            return new StartException(why.precededBy(place + ": " + key + " = "), cause);
        }

        /** The refusal of a key, whatever its value is. */
        public StartException refusal(String why, String remedy) {
            return new StartException(place + ": " + Quote.quoted(key) + " " + why, remedy);
        }

        private StartException isNo(String kind) {
            return new StartException(
                    place + ": the value of " + Quote.quoted(key) + " is of the wrong kind",
                    "write " + kind);
        }
    }
}
