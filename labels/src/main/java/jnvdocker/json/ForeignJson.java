package jnvdocker.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.filter.FilteringParserDelegate;
import com.fasterxml.jackson.core.filter.TokenFilter;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Optional;

/**
 * Parses JSON that may have been made long on purpose. A document has a limit in bytes, which its
 * reader sets. Members that nobody reads are skipped without a copy of them.
 */
public final class ForeignJson {
    private static final int DEPTH = 100;
    private static final int LONGEST_STRING = 4 << 20;

    /** An element can take twenty times the memory of its text: {@code ["a"]}. */
    private static final int MOST_ELEMENTS = 50_000;

    /** Of each item of a list at the top, so that one item does not have the list refused. */
    private static final int MOST_OF_ITEM = 5_000;

    private static final int MOST_CHARACTERS = 16 << 20;

    private static final JsonFactory TEXTS = factory().build();

    private ForeignJson() {}

    /** The members of objects that are read. */
    @FunctionalInterface
    public interface Members {
        /**
         * @param parent the name of the object, or of the list of objects, that has the member;
         *     null if it has none
         */
        boolean areRead(String parent, String member);
    }

    /** A document is longer than its reader takes. */
    public static final class TooLongException extends IOException {
        private static final long serialVersionUID = 1L;

        private TooLongException(String message) {
            super(message);
        }

        /** A document with more than that many bytes. */
        public static TooLongException ofBytes(long most) {
            return new TooLongException("it has more than " + most + " bytes");
        }
    }

    /** Prepares a factory of parsers: they keep no names, which strangers have chosen. */
    public static JsonFactoryBuilder factory() {
        return (JsonFactoryBuilder)
                JsonFactory.builder()
                        .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
                        .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
                        .streamReadConstraints(
                                StreamReadConstraints.builder()
                                        .maxNestingDepth(DEPTH)
                                        .maxNameLength(LONGEST_STRING)
                                        .maxStringLength(LONGEST_STRING)
                                        .build());
    }

    /**
     * Reads a text that is one value; null if it is empty.
     *
     * @param mapper makes the tree
     * @param most the limit in bytes
     * @throws TooLongException when the text is longer
     */
    public static JsonNode tree(JsonMapper mapper, String text, int most) throws IOException {
        return tree(mapper, parser(text, most));
    }

    /** Reads the members that are needed of a text that is one value. */
    public static JsonNode tree(JsonMapper mapper, String text, int most, Members members)
            throws IOException {
        try {
            return tree(mapper, filtered(parser(text, most), members, () -> {}));
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    /** A character has one byte at least. */
    private static JsonParser parser(String text, int most) throws IOException {
        if (text.length() > most) {
            throw TooLongException.ofBytes(most);
        }
        return TEXTS.createParser(text);
    }

    private static JsonNode tree(JsonMapper mapper, JsonParser parser) throws IOException {
        try (parser) {
            return mapper.reader(DeserializationFeature.FAIL_ON_TRAILING_TOKENS).readTree(parser);
        }
    }

    /**
     * Leaves out the members that nobody reads, and in each item of a list at the top what its own
     * lists have beyond some thousand elements. What is left out may have any length.
     *
     * @param ended is called at the end of each object and list at the top
     * @return a parser that throws an {@link UncheckedIOException} with a {@link TooLongException}
     *     for a document of which too many elements or characters are read
     */
    public static JsonParser filtered(JsonParser parser, Members members, Runnable ended) {
        return new FilteringParserDelegate(
                parser,
                new TokenFilter() {
                    @Override
                    public TokenFilter includeRootValue(int index) {
                        return new Part(new Document(members, ended), null, true, Optional.empty());
                    }
                },
                TokenFilter.Inclusion.INCLUDE_NON_NULL,
                true);
    }

    /** One value at the top. */
    private static final class Document {
        private final Members members;
        private final Runnable ended;
        private int elements;
        private long characters;

        Document(Members members, Runnable ended) {
            this.members = members;
            this.ended = ended;
        }

        void addElement() {
            elements++;
            if (elements > MOST_ELEMENTS) {
                throw tooLong("its lists have more than " + MOST_ELEMENTS + " elements");
            }
        }

        void addCharacters(int more) {
            characters += more;
            if (characters > MOST_CHARACTERS) {
                throw tooLong("its texts have more than " + MOST_CHARACTERS + " characters");
            }
        }

        private static UncheckedIOException tooLong(String message) {
            return new UncheckedIOException(new TooLongException(message));
        }
    }

    /** An item of a list at the top. */
    private static final class Item {
        private int elements;
    }

    /** Keeps what is read of a part of a document. */
    private static final class Part extends TokenFilter {
        private final Document document;
        private final String parent;
        private final boolean isWhole;
        private final Optional<Item> item;

        Part(Document document, String parent, boolean isWhole, Optional<Item> item) {
            this.document = document;
            this.parent = parent;
            this.isWhole = isWhole;
            this.item = item;
        }

        @Override
        public TokenFilter includeProperty(String name) {
            return document.members.areRead(parent, name)
                    ? new Part(document, name, false, item)
                    : null;
        }

        @Override
        public TokenFilter includeElement(int index) {
            if (item.isPresent() && ++item.get().elements > MOST_OF_ITEM) {
                return null;
            }
            document.addElement();
            return isWhole ? new Part(document, parent, false, Optional.of(new Item())) : this;
        }

        @Override
        public boolean includeValue(JsonParser parser) throws IOException {
            if (parser.hasToken(JsonToken.VALUE_STRING)) {
                document.addCharacters(parser.getTextLength());
            }
            return true;
        }

        @Override
        public void filterFinishObject() {
            finish();
        }

        @Override
        public void filterFinishArray() {
            finish();
        }

        private void finish() {
            if (isWhole) {
                document.ended.run();
            }
        }
    }
}
