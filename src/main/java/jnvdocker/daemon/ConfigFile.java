package jnvdocker.daemon;

import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;

import org.tomlj.MutableTomlTable;
import org.tomlj.Toml;
import org.tomlj.TomlArray;
import org.tomlj.TomlParseError;
import org.tomlj.TomlParseOptions;
import org.tomlj.TomlParseResult;
import org.tomlj.TomlPosition;
import org.tomlj.TomlTable;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;

/** The configuration as written: the values of its keys, and their lines. */
final class ConfigFile {
    private final Path path;
    private final TomlTable table;

    /** The prefix of its keys, for messages: {@code runtime.} in the table of that name. */
    private final String prefix;

    private final Set<String> known = new TreeSet<>();
    private final List<ConfigFile> tables = new ArrayList<>();

    private ConfigFile(Path path, TomlTable table, String prefix) {
        this.path = path;
        this.table = table;
        this.prefix = prefix;
    }

    /** Returns an empty configuration. */
    static ConfigFile empty(Path path) {
        return new ConfigFile(path, MutableTomlTable.create(), "");
    }

    /**
     * @throws StartException naming the line that is not TOML
     */
    static ConfigFile parse(String text, Path path) throws StartException {
        TomlParseResult table = Toml.parse(text, TomlParseOptions.sourceless());
        if (table.hasErrors()) {
            TomlParseError first = table.errors().getFirst();
            String why = Quote.shown(first.getMessage());
            throw new StartException(Refusal.of(place(path, first.position()) + ": " + why), first);
        }
        return new ConfigFile(path, table, "");
    }

    private static String place(Path path, TomlPosition position) {
        return path + ":" + position.line();
    }

    /** Returns the value of a key, which counts as known from then on. */
    Entry at(String key) {
        known.add(key);
        Optional<Object> value = Optional.ofNullable(table.get(List.of(key)));
        return new Entry(prefix + key, value, value.isPresent() ? place(key) : "");
    }

    /**
     * Returns the content of a table, {@code [name]}, which counts as known from then on.
     *
     * @throws StartException when its name has another value
     */
    ConfigFile in(String name) throws StartException {
        known.add(name);
        Object value = table.get(List.of(name));
        if (value != null && !(value instanceof TomlTable)) {
            throw new StartException(
                    place(name) + ": " + Quote.quoted(name) + " is a table",
                    "write its keys below a line [" + name + "]");
        }
        TomlTable its = value == null ? MutableTomlTable.create() : (TomlTable) value;
        ConfigFile found = new ConfigFile(path, its, name + ".");
        tables.add(found);
        return found;
    }

    private String place(String key) {
        return place(path, table.inputPositionOf(List.of(key)));
    }

    /**
     * @throws StartException when there is an unknown key
     */
    void refuseOthers() throws StartException {
        for (String key : table.keySet()) {
            if (!known.contains(key)) {
                throw new StartException(
                        place(key) + ": unknown key " + Quote.quoted(prefix + key),
                        "known are " + known);
            }
        }
        for (ConfigFile its : tables) {
            its.refuseOthers();
        }
    }

    /**
     * The value of a key, or an element of its list. A number may be given as a text, and vice
     * versa: quotes are easily forgotten.
     */
    final class Entry {
        private final String key;
        private final Optional<Object> value;
        private final String place;

        private Entry(String key, Optional<Object> value, String place) {
            this.key = key;
            this.value = value;
            this.place = place;
        }

        Optional<String> text() throws StartException {
            refuseUnlessScalar("text in quotes");
            return value.map(Object::toString);
        }

        private void refuseUnlessScalar(String kind) throws StartException {
            if (value.orElse("") instanceof TomlTable || value.orElse("") instanceof TomlArray) {
                throw isNo(kind);
            }
        }

        /** Returns the text of an element of a list. */
        String word() {
            return value.orElseThrow().toString();
        }

        /** Whether there is no value, or a blank text. */
        private boolean isBlank() {
            return value.filter(it -> !(it instanceof String text && text.isBlank())).isEmpty();
        }

        OptionalInt number() throws StartException {
            try {
                return isBlank()
                        ? OptionalInt.empty()
                        : OptionalInt.of(Integer.parseInt(word().strip()));
            } catch (NumberFormatException e) {
                throw isNo("a whole number");
            }
        }

        /** Returns a boolean value; false if there is none. */
        boolean choice() throws StartException {
            return switch (isBlank() ? false : value.get()) {
                case Boolean choice -> choice;
                case Long number -> number != 0;
                case String text when text.strip().equalsIgnoreCase("true") -> true;
                case String text when text.strip().equalsIgnoreCase("false") -> false;
                default -> throw isNo("true or false");
            };
        }

        /** Returns a boolean value; true if there is none. */
        boolean choiceUnlessSaid() throws StartException {
            return isBlank() || choice();
        }

        /**
         * Returns one of some words, in lower case.
         *
         * @param words the first is the default
         */
        String oneOf(List<String> words) throws StartException {
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
        List<Entry> list() throws StartException {
            String kind = "a list, as [\"name\", \"another\"]";
            if (isBlank()) {
                return List.of();
            }
            if (!(value.get() instanceof TomlArray array)) {
                throw isNo(kind);
            }
            List<Entry> entries = new ArrayList<>();
            for (int i = 0; i < array.size(); i++) {
                String at = place(path, array.inputPositionOf(i));
                Entry entry = new Entry(key, Optional.of(array.get(i)), at);
                entry.refuseUnlessScalar(kind);
                entries.add(entry);
            }
            return entries.stream().filter(entry -> !entry.word().isBlank()).toList();
        }

        /**
         * @param why the text after {@code key =}: the value, what it is not, and what to write
         */
        StartException refusal(Refusal why, Exception cause) {
            return new StartException(why.precededBy(place + ": " + key + " = "), cause);
        }

        private StartException isNo(String kind) {
            return new StartException(
                    place + ": the value of " + Quote.quoted(key) + " is of the wrong kind",
                    "write " + kind);
        }
    }
}
