package jnvdocker.notices;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * Completes the list of what is shipped, in CycloneDX's format: Maven knows the jars, but not the
 * works of others in them, the Java runtime, and what the C programs are linked with.
 */
public final class Sbom {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Sbom() {}

    /**
     * @param args the tree, the file that names the parts, the directory of licences' texts, the
     *     list of jars, and the files to write
     */
    public static void main(String[] args) throws IOException {
        ObjectNode list = (ObjectNode) JSON.readTree(new File(args[3]));
        add(new Notices(Path.of(args[0]), Path.of(args[1]), Path.of(args[2])), list);
        for (int i = 4; i < args.length; i++) {
            Path file = Path.of(args[i]);
            Files.createDirectories(file.getParent());
            Files.writeString(
                    file, JSON.writerWithDefaultPrettyPrinter().writeValueAsString(list) + "\n");
        }
    }

    /** Adds all parts of a tree as components. */
    static void add(Notices notices, ObjectNode list) throws IOException {
        ArrayNode components = list.withArray("components");
        for (Notices.Part part : notices.parts()) {
            ObjectNode component = components.addObject();
            component.put("type", "library");
            String ref = "part:" + part.name() + ":" + part.in();
            component.put("bom-ref", ref.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9.:]+", "-"));
            component.put("name", part.name());
            if (!part.version().isEmpty()) {
                component.put("version", part.version());
            }
            component.put("scope", "required");
            component.putArray("licenses").addObject().put("expression", part.license());
            if (!part.copyright().isEmpty()) {
                component.put("copyright", part.copyright());
            }
            component
                    .putArray("externalReferences")
                    .addObject()
                    .put("type", "website")
                    .put("url", part.source());
            component
                    .putArray("properties")
                    .addObject()
                    .put("name", "jnvdocker:in")
                    .put("value", part.in());
        }
    }
}
