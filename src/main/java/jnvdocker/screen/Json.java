package jnvdocker.screen;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectWriter;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.json.JsonMapper;

import java.io.IOException;
import java.io.Writer;

/**
 * Prints the documents of {@code --json}: records with their components as keys, in their order.
 * Programs depend on the keys: they are in the manual and in a schema for each command, none is
 * removed and none changes its meaning. A key is always present; unknown and inapplicable values
 * are null.
 */
public final class Json {
    /** ASCII only, so that no name can control a terminal. */
    private static final ObjectMapper JSON =
            JsonMapper.builder()
                    .enable(JsonWriteFeature.ESCAPE_NON_ASCII)
                    .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
                    .build();

    private Json() {}

    public static String text(Object document) {
        return text(JSON.writerWithDefaultPrettyPrinter(), document);
    }

    /** Returns a document without line breaks. */
    public static String line(Object document) {
        return text(JSON.writer(), document);
    }

    private static String text(ObjectWriter writer, Object document) {
        try {
            return writer.writeValueAsString(document);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("a record is always JSON", e);
        }
    }

    /**
     * Prints a document of any length.
     *
     * @param onOneLine whether it has no line breaks
     */
    public static void print(Object document, Writer out, boolean onOneLine) throws IOException {
        ObjectWriter writer = onOneLine ? JSON.writer() : JSON.writerWithDefaultPrettyPrinter();
        writer.without(JsonGenerator.Feature.AUTO_CLOSE_TARGET).writeValue(out, document);
    }
}
