package jnvdocker.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonStreamContext;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.util.JsonParserDelegate;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;

import java.io.IOException;

/**
 * Parses JSON that may have been made long on purpose. A tree or a bean takes many times the memory
 * of its text, so the length of the text is no limit: this parser leaves out the members that
 * nobody needs, and stops before the rest weighs too much. The weight is an upper estimate of the
 * memory of a tree, in bytes.
 *
 * <p>Each value at the top, and each element of a list at the top, is weighed on its own, so that
 * one long element of a list does not hide the others: what is too much in it is left out.
 */
public final class BoundedParser extends JsonParserDelegate {
    /** The bytes of a name or scalar with its objects and place in a tree; a character has 2. */
    private static final int SCALAR = 80;

    private static final int CONTAINER = 160;
    private static final int DEPTH = 100;
    private static final int LONGEST_NAME = 1 << 23;

    private static final JsonFactory TEXTS = factory().build();

    private final Members members;
    private final Limits limits;
    private final Scale scale;
    private boolean isList;
    private long weight;
    private long element;

    /** The members of objects that are read; the others are skipped, without a copy of them. */
    @FunctionalInterface
    public interface Members {
        /**
         * @param parent the name of the object that has the member; null if it has none
         */
        boolean areRead(String parent, String member);
    }

    /**
     * Weights above which something is too long.
     *
     * @param single of a value at the top that is no list
     * @param list of a list at the top
     * @param element of one of its elements
     */
    public record Limits(long single, long list, long element) {
        public static Limits of(long all) {
            return new Limits(all, all, all);
        }
    }

    /** Receives the weight of the present value at the top whenever it grows, and 0 at its end. */
    @FunctionalInterface
    public interface Scale {
        void weighs(long bytes) throws IOException;
    }

    /** The JSON would take too much memory. */
    public static final class TooLongException extends IOException {
        private static final long serialVersionUID = 1L;

        private TooLongException(long most) {
            super("its contents would take more than " + most + " bytes of memory");
        }
    }

    public BoundedParser(JsonParser parser, Members members, Limits limits, Scale scale) {
        super(parser);
        this.members = members;
        this.limits = limits;
        this.scale = scale;
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
                                        .maxNameLength(LONGEST_NAME)
                                        .build());
    }

    /**
     * A tree, or null if the text is empty.
     *
     * @param weight an upper estimate of its memory, in bytes
     */
    public record Tree(JsonNode root, long weight) {}

    /**
     * Reads a text that is one value.
     *
     * @param mapper makes the tree
     * @throws TooLongException when it would weigh more than that
     */
    public static Tree tree(JsonMapper mapper, String text, Members members, long most)
            throws IOException {
        JsonParser whole = TEXTS.createParser(text);
        try (var parser = new BoundedParser(whole, members, Limits.of(most), _ -> {})) {
            JsonNode root = mapper.readTree(parser);
            long weight = parser.weight;
            if (parser.nextToken() != null) {
                throw new JsonParseException(
                        parser, "something follows the value", parser.currentTokenLocation());
            }
            return new Tree(root, weight);
        }
    }

    @Override
    public JsonToken nextToken() throws IOException {
        try {
            JsonToken token = delegate.nextToken();
            while (token != null && isLeftOut(token)) {
                delegate.skipChildren();
                token = delegate.nextToken();
            }
            if (token != null) {
                weigh(token);
            }
            return token;
        } catch (IOException e) {
            scale.weighs(0);
            throw e;
        }
    }

    /** Leaves the parser at the last token of what is left out. */
    private boolean isLeftOut(JsonToken token) throws IOException {
        JsonStreamContext context = delegate.getParsingContext();
        if (token == JsonToken.FIELD_NAME) {
            boolean skipped =
                    !members.areRead(context.getParent().getCurrentName(), delegate.currentName());
            if (skipped) {
                delegate.nextToken();
            }
            return skipped;
        }
        JsonStreamContext holder = token.isStructStart() ? context.getParent() : context;
        return isList
                && element >= limits.element()
                && !token.isStructEnd()
                && holder.inArray()
                && !holder.getParent().inRoot();
    }

    private void weigh(JsonToken token) throws IOException {
        JsonStreamContext context = delegate.getParsingContext();
        JsonStreamContext holder = token.isStructStart() ? context.getParent() : context;
        if (holder.inRoot() && !token.isStructEnd()) {
            isList = token == JsonToken.START_ARRAY;
            weight = 0;
            element = 0;
        } else if (holder.inArray() && holder.getParent().inRoot()) {
            element = 0;
        }
        long bytes =
                switch (token) {
                    case START_OBJECT, START_ARRAY -> CONTAINER;
                    case FIELD_NAME -> SCALAR + 2L * delegate.currentName().length();
                    case VALUE_STRING -> SCALAR + 2L * delegate.getTextLength();
                    case END_OBJECT, END_ARRAY -> 0;
                    default -> SCALAR;
                };
        weight += bytes;
        element += bytes;
        long most = isList ? limits.list() : limits.single();
        if (weight > most) {
            throw new TooLongException(most);
        }
        scale.weighs(holder.inRoot() && token.isStructEnd() ? 0 : weight);
    }

    @Override
    public JsonToken nextValue() throws IOException {
        JsonToken token = nextToken();
        return token == JsonToken.FIELD_NAME ? nextToken() : token;
    }

    @Override
    public void close() throws IOException {
        scale.weighs(0);
        delegate.close();
    }
}
