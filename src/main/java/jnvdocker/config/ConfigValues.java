package jnvdocker.config;

import jnvdocker.config.ConfigFile.Entry;
import jnvdocker.request.GpuResolver;
import jnvdocker.words.InvalidValueException;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;
import jnvdocker.words.Span;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** Values of several keys, with the refusals of others. */
public final class ConfigValues {
    private ConfigValues() {}

    /**
     * Returns an absolute path, if there is one.
     *
     * @param what the path that a refusal says to write: {@code that of runc}
     */
    public static Optional<Path> absolute(Entry entry, String what) throws StartException {
        Optional<String> text = entry.text().filter(it -> !it.isBlank());
        if (text.isPresent() && !text.get().startsWith("/")) {
            throw entry.refusal(
                    Refusal.of(
                            Quote.quoted(text.get()) + " is not an absolute path: write " + what),
                    null);
        }
        return text.map(Path::of);
    }

    /**
     * Returns a number that is at least one, if there is one.
     *
     * @param what the number is, for a refusal
     * @param otherwise what leaving the key out means, for a refusal
     */
    public static OptionalInt oneOrMore(Entry entry, String what, String otherwise)
            throws StartException {
        OptionalInt number = entry.number();
        if (number.isPresent() && number.getAsInt() < 1) {
            throw entry.refusal(
                    Refusal.of(
                            "%s is not %s: write 1 or more, or leave the key out%s"
                                    .formatted(number.getAsInt(), what, otherwise)),
                    null);
        }
        return number;
    }

    /** Returns ids of GPUs, each by itself. */
    public static List<String> gpuIds(Entry entry) throws StartException {
        List<Entry> ids = entry.list();
        for (Entry id : ids) {
            if (!GpuResolver.ids(id.word()).stream().allMatch(GpuResolver::isId)) {
                throw id.refusal(
                        Refusal.of(
                                Quote.quoted(id.word())
                                        + " is not a GPU's index, UUID or PCI address: write it as"
                                        + " 'jnvdocker gpu ls' shows it"),
                        null);
            }
        }
        return words(ids).stream().flatMap(word -> GpuResolver.ids(word).stream()).toList();
    }

    /** Returns the elements of a list. */
    public static List<String> words(List<Entry> entries) {
        return entries.stream().map(Entry::word).toList();
    }

    /**
     * Returns a duration, if there is one.
     *
     * @param besides what a refusal says to do besides writing another
     */
    public static Optional<Duration> span(Entry entry, Span.Limits limits, String besides)
            throws StartException {
        Optional<String> text = entry.text();
        try {
            return text.map(it -> Span.parse(it, limits));
        } catch (InvalidValueException e) {
            throw entry.refusal(e.refusal().followedBy(", " + besides), e);
        }
    }
}
