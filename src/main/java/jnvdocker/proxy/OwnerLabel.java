package jnvdocker.proxy;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;

import jnvdocker.json.ForeignJson;
import jnvdocker.lease.text.ContainerOwner;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;

/**
 * Sets the label with the owner in the description of a container. The engine matches names in any
 * case, and merges members of the same name: all that it could take for the labels, or for an
 * object on the way to them, becomes one member, in which our label comes last. What is sent on was
 * written here, so there is nothing in it that the engine alone could read. Nothing is kept but
 * text: a tree would take many times the memory.
 */
final class OwnerLabel {
    private static final JsonFactory JSON = ForeignJson.factory().build();

    private OwnerLabel() {}

    /** Where labels of containers are in a body. */
    enum Place {
        OF_CONTAINER,
        OF_SERVICE;

        private List<String> names() {
            return switch (this) {
                case OF_CONTAINER -> List.of("Labels");
                case OF_SERVICE -> List.of("TaskTemplate", "ContainerSpec", "Labels");
            };
        }
    }

    /**
     * Returns a body with the label. One that root has set stays: root's servers start containers
     * for other users.
     *
     * @param uid the owner
     * @throws RequestRefusal when the body is no JSON object
     */
    static byte[] set(byte[] body, Place place, int uid) throws IOException {
        try (JsonParser in = JSON.createParser(body)) {
            if (in.nextToken() != JsonToken.START_OBJECT) {
                throw malformed("it is no object");
            }
            Part whole = new Part(place.names(), uid == 0, body.length);
            whole.copyMembers(in);
            if (in.nextToken() != null) {
                throw malformed("something follows the object");
            }
            return whole.finish(ContainerOwner.label(uid));
        } catch (JsonProcessingException e) {
            throw malformed(e.getOriginalMessage());
        }
    }

    private static RequestRefusal malformed(String why) {
        return RequestRefusal.malformed(
                "the request's body is not the JSON of a container: " + why);
    }

    /** An object on the way to the labels, or the labels. */
    private static final class Part {
        private final List<String> names;
        private final boolean keeps;
        private final ByteArrayOutputStream bytes;
        private final JsonGenerator out;
        private Optional<Part> inner = Optional.empty();
        private boolean isKept;

        /**
         * @param names of the objects in it that lead to the labels; empty for the labels
         * @param keeps whether an owner that is named already stays
         */
        Part(List<String> names, boolean keeps, int size) throws IOException {
            this.names = names;
            this.keeps = keeps;
            bytes = new ByteArrayOutputStream(size);
            out = JSON.createGenerator(bytes);
            out.writeStartObject();
        }

        private boolean isLabels() {
            return names.isEmpty();
        }

        /** Copies the members of the object that the parser has begun, beside earlier ones. */
        void copyMembers(JsonParser in) throws IOException {
            while (in.nextToken() == JsonToken.FIELD_NAME) {
                String name = in.currentName();
                JsonToken value = in.nextToken();
                if (!isLabels() && name.equalsIgnoreCase(names.getFirst())) {
                    copyInner(in, value);
                } else if (isLabels() && name.equals(ContainerOwner.LABEL) && !keeps) {
                    in.skipChildren();
                } else {
                    isKept |= isLabels() && name.equals(ContainerOwner.LABEL);
                    out.writeFieldName(name);
                    copy(in, value);
                }
            }
        }

        private void copyInner(JsonParser in, JsonToken value) throws IOException {
            switch (value) {
                case START_OBJECT -> {
                    if (inner.isEmpty()) {
                        inner = Optional.of(new Part(names.subList(1, names.size()), keeps, 64));
                    }
                    inner.get().copyMembers(in);
                }
                // To the engine, too, this undoes what comes before it.
                case VALUE_NULL -> inner = Optional.empty();
                default -> throw malformed(names.getFirst() + " is no object");
            }
        }

        /** Copies one value. Numbers are copied as text, which no type of Java would keep. */
        private void copy(JsonParser in, JsonToken first) throws IOException {
            int depth = 0;
            JsonToken token = first;
            while (true) {
                switch (token) {
                    case START_OBJECT -> out.writeStartObject();
                    case START_ARRAY -> out.writeStartArray();
                    case END_OBJECT -> out.writeEndObject();
                    case END_ARRAY -> out.writeEndArray();
                    case FIELD_NAME -> out.writeFieldName(in.currentName());
                    case VALUE_STRING ->
                            out.writeString(
                                    in.getTextCharacters(), in.getTextOffset(), in.getTextLength());
                    case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> out.writeNumber(in.getText());
                    case VALUE_TRUE -> out.writeBoolean(true);
                    case VALUE_FALSE -> out.writeBoolean(false);
                    case VALUE_NULL -> out.writeNull();
                    case VALUE_EMBEDDED_OBJECT, NOT_AVAILABLE ->
                            throw new IllegalStateException("no token of a text: " + token);
                }
                depth += token.isStructStart() ? 1 : token.isStructEnd() ? -1 : 0;
                if (depth == 0) {
                    return;
                }
                token = in.nextToken();
            }
        }

        /** A service without a description of its containers has none, and needs no label. */
        byte[] finish(String owner) throws IOException {
            if (isLabels()) {
                if (!isKept) {
                    out.writeStringField(ContainerOwner.LABEL, owner);
                }
            } else if (inner.isPresent() || names.size() == 1) {
                Part labels = inner.isPresent() ? inner.get() : new Part(List.of(), keeps, 64);
                out.writeFieldName(names.getFirst());
                out.writeRawValue(new String(labels.finish(owner), StandardCharsets.UTF_8));
            }
            out.writeEndObject();
            out.close();
            return bytes.toByteArray();
        }
    }
}
