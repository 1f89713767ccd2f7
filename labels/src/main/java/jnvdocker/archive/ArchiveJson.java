package jnvdocker.archive;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;

import jnvdocker.labels.ImageConfig;
import jnvdocker.words.Quote;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Reads the JSON documents of image archives. Piece by piece, and never into a tree: that takes
 * many times a document's length, and a hostile one could fill the memory with it. Unknown keys are
 * skipped.
 */
final class ArchiveJson {
    /** The limit on the number of images, manifests, names, labels and variables, each. */
    private static final int MANY = 10_000;

    private static final int DEPTH = 64;
    private static final Set<String> CONFIGS =
            Set.of(
                    "",
                    "application/vnd.oci.image.config.v1+json",
                    "application/vnd.docker.container.image.v1+json");

    /** Caches no names between documents: they are untrusted. */
    private static final JsonFactory JSON =
            JsonFactory.builder()
                    .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
                    .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
                    .streamReadConstraints(
                            StreamReadConstraints.builder().maxNestingDepth(DEPTH).build())
                    .build();

    private final String name;

    /**
     * One image of {@code manifest.json}.
     *
     * @param config the name of its configuration in the archive
     */
    record Saved(String config, List<String> tags) {}

    /** A reference of an OCI document to another one. */
    record Descriptor(
            String mediaType, String digest, Platform platform, Map<String, String> annotations) {
        boolean isAttestation() {
            return platform.isNone() || annotations.containsKey("vnd.docker.reference.type");
        }

        boolean isImageConfig() {
            return CONFIGS.contains(mediaType);
        }
    }

    /** An OCI index or manifest; it has either manifests or a configuration. */
    record Node(List<Descriptor> manifests, List<Descriptor> config) {}

    /** An image's configuration. */
    record Config(Platform platform, ImageConfig image) {}

    private interface Reader {
        void read(JsonParser value) throws IOException, BadArchiveException;
    }

    private interface FieldReader {
        void read(String field, JsonParser value) throws IOException, BadArchiveException;
    }

    private ArchiveJson(String name) {
        this.name = name;
    }

    static List<Saved> saved(String name, byte[] json) throws BadArchiveException {
        List<Saved> all = new ArrayList<>();
        ArchiveJson reader = new ArchiveJson(name);
        reader.document(json, value -> reader.list(value, each -> all.add(reader.saved(each))));
        return all;
    }

    static Node node(String name, byte[] json) throws BadArchiveException {
        List<Descriptor> manifests = new ArrayList<>();
        List<Descriptor> config = new ArrayList<>();
        ArchiveJson reader = new ArchiveJson(name);
        reader.fields(
                json,
                (field, content) -> {
                    switch (field) {
                        case "manifests" ->
                                reader.list(
                                        content, each -> manifests.add(reader.descriptor(each)));
                        case "config" -> config.add(reader.descriptor(content));
                        default -> content.skipChildren();
                    }
                });
        if (config.size() > 1 || !config.isEmpty() && !manifests.isEmpty()) {
            throw reader.malformed("it is two things at once", null);
        }
        return new Node(manifests, config);
    }

    static Config config(String name, byte[] json) throws BadArchiveException {
        Map<String, String> texts = new LinkedHashMap<>();
        Map<String, String> labels = new LinkedHashMap<>();
        List<String> env = new ArrayList<>();
        ArchiveJson reader = new ArchiveJson(name);
        FieldReader settings =
                (field, content) -> {
                    switch (field) {
                        case "Labels" -> reader.texts(content, labels);
                        case "Env" -> reader.list(content, each -> env.add(reader.text(each)));
                        default -> content.skipChildren();
                    }
                };
        reader.fields(
                json,
                (field, content) -> {
                    switch (field) {
                        case "os", "architecture" -> texts.put(field, reader.text(content));
                        case "config" -> reader.object(content, settings);
                        default -> content.skipChildren();
                    }
                });
        return new Config(platform(texts), ImageConfig.of(labels, env));
    }

    private static Platform platform(Map<String, String> texts) {
        return new Platform(texts.getOrDefault("os", ""), texts.getOrDefault("architecture", ""));
    }

    private Saved saved(JsonParser value) throws IOException, BadArchiveException {
        List<String> config = new ArrayList<>();
        List<String> tags = new ArrayList<>();
        object(
                value,
                (field, content) -> {
                    switch (field) {
                        case "Config" -> config.add(text(content));
                        case "RepoTags" -> list(content, each -> tags.add(text(each)));
                        default -> content.skipChildren();
                    }
                });
        if (config.isEmpty()) {
            throw malformed("it names no Config", null);
        }
        return new Saved(config.getLast(), List.copyOf(tags));
    }

    private Descriptor descriptor(JsonParser value) throws IOException, BadArchiveException {
        Map<String, String> own = new LinkedHashMap<>();
        Map<String, String> platform = new LinkedHashMap<>();
        Map<String, String> annotations = new LinkedHashMap<>();
        object(
                value,
                (field, content) -> {
                    switch (field) {
                        case "mediaType", "digest" -> own.put(field, text(content));
                        case "platform" ->
                                object(
                                        content,
                                        (key, inner) -> {
                                            switch (key) {
                                                case "os", "architecture" ->
                                                        platform.put(key, text(inner));
                                                default -> inner.skipChildren();
                                            }
                                        });
                        case "annotations" -> texts(content, annotations);
                        default -> content.skipChildren();
                    }
                });
        return new Descriptor(
                own.getOrDefault("mediaType", ""),
                own.getOrDefault("digest", ""),
                platform(platform),
                annotations);
    }

    private void document(byte[] json, Reader reader) throws BadArchiveException {
        try (JsonParser parser = JSON.createParser(json)) {
            parser.nextToken();
            reader.read(parser);
            if (parser.nextToken() != null) {
                throw malformed("something follows its end", null);
            }
        } catch (JsonProcessingException e) {
            throw malformed("it is not JSON, or nested too deep", e);
        } catch (IOException e) {
            throw malformed("it is not text", e);
        }
    }

    /** A document that is one object. */
    private void fields(byte[] json, FieldReader reader) throws BadArchiveException {
        document(json, value -> object(value, reader));
    }

    /** Nothing in place of an object or a list is as good as an empty one. */
    private void object(JsonParser parser, FieldReader reader)
            throws IOException, BadArchiveException {
        if (parser.currentToken() == JsonToken.VALUE_NULL) {
            return;
        }
        if (parser.currentToken() != JsonToken.START_OBJECT) {
            throw malformed("it has something else where an object belongs", null);
        }
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            String field = parser.currentName();
            parser.nextToken();
            reader.read(field, parser);
        }
    }

    private void list(JsonParser parser, Reader reader) throws IOException, BadArchiveException {
        if (parser.currentToken() == JsonToken.VALUE_NULL) {
            return;
        }
        if (parser.currentToken() != JsonToken.START_ARRAY) {
            throw malformed("it has something else where a list belongs", null);
        }
        for (int count = 0; parser.nextToken() != JsonToken.END_ARRAY; count++) {
            bound(count);
            reader.read(parser);
        }
    }

    private void texts(JsonParser parser, Map<String, String> into)
            throws IOException, BadArchiveException {
        object(
                parser,
                (key, value) -> {
                    into.put(key, text(value));
                    bound(into.size());
                });
    }

    private String text(JsonParser value) throws IOException, BadArchiveException {
        return switch (value.currentToken()) {
            case VALUE_STRING -> value.getText();
            case VALUE_NULL -> "";
            default -> throw malformed("it has something else where a text belongs", null);
        };
    }

    private void bound(int count) throws BadArchiveException {
        if (count > MANY) {
            throw new BadArchiveException(
                    "its file %s has a list of more than %,d".formatted(Quote.shown(name), MANY),
                    BadArchiveException.LOAD);
        }
    }

    private BadArchiveException malformed(String why, Exception cause) {
        return new BadArchiveException(
                "its file " + Quote.shown(name) + " cannot be read: " + why,
                BadArchiveException.SAVE_AGAIN,
                cause);
    }
}
