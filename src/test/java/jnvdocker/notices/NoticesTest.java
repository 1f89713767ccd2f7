package jnvdocker.notices;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

class NoticesTest {
    private static final String KNOWN =
            """
            accepted = ["MIT", "Apache-2.0"]
            [[jars]]
            names = ["one"]
            license = "Apache-2.0"
            source = "https://example.org/{name}"
            [[parts]]
            name = "ffi"
            in = "libone.so"
            license = "MIT"
            copyright = "Copyright (c) ffi"
            source = "https://example.org/ffi"
            """;

    @TempDir private Path tree;

    @BeforeEach
    void layOut() throws IOException {
        Files.createDirectories(tree.resolve("lib/native"));
        Files.writeString(tree.resolve("lib/native/libone.so"), "");
        Files.writeString(tree.resolve("MIT.txt"), "permission is granted\n");
        jar("one-1.2.jar", Map.of("META-INF/NOTICE", "one is by One\r\n", "one/NOTICE", "no"));
        jar("jnvdocker-0.1.jar", Map.of());
    }

    private void jar(String name, Map<String, String> texts) throws IOException {
        try (OutputStream out = Files.newOutputStream(tree.resolve("lib").resolve(name));
                ZipOutputStream zip = new ZipOutputStream(out)) {
            for (Map.Entry<String, String> text : texts.entrySet()) {
                zip.putNextEntry(new ZipEntry(text.getKey()));
                zip.write(text.getValue().getBytes(StandardCharsets.UTF_8));
            }
        }
    }

    private String notices(String known) throws IOException {
        Path file = Files.writeString(tree.resolve("third-party.toml"), known);
        return new Notices(tree, file, tree).text("the Apache licence\n");
    }

    private void assertRefused(String why, String known) {
        assertEquals(
                why,
                assertThrows(IllegalArgumentException.class, () -> notices(known)).getMessage());
    }

    @Test
    void eachPartHasItsLicenceAndItsTexts() throws IOException {
        String text = notices(KNOWN);
        assertTrue(text.contains("\none 1.2\n    Apache-2.0\n    https://example.org/one\n"), text);
        assertTrue(
                text.contains("\nffi, in libone.so\n    MIT\n    Copyright (c) ffi\n    https:"),
                text);
        assertTrue(text.contains("\none 1.2\n\none is by One\n"), text);
        assertTrue(text.contains("\nApache-2.0\n\nthe Apache licence\n"), text);
        assertTrue(text.endsWith("\nMIT\n\npermission is granted\n"), text);
    }

    @Test
    void partsAreAddedToTheListOfJars() throws IOException {
        ObjectNode list =
                (ObjectNode) new ObjectMapper().readTree("{\"components\": [{\"name\": \"one\"}]}");
        Path file = Files.writeString(tree.resolve("third-party.toml"), KNOWN);
        Sbom.add(new Notices(tree, file, tree), list);
        assertEquals(List.of("one", "ffi"), list.findValuesAsText("name").subList(0, 2));
        assertEquals("MIT", list.at("/components/1/licenses/0/expression").asText());
        assertEquals("libone.so", list.at("/components/1/properties/0/value").asText());
    }

    @Test
    void unknownJarFailsTheBuild() throws IOException {
        jar("two-3.jar", Map.of());
        assertRefused("two is shipped, and third-party.toml does not name its licence", KNOWN);
    }

    @Test
    void unknownLibraryFailsTheBuild() throws IOException {
        Files.writeString(tree.resolve("lib/native/libtwo.so"), "");
        assertRefused(
                "third-party.toml does not name what these libraries are made of: [libtwo.so]",
                KNOWN);
    }

    @Test
    void unknownScriptFailsTheBuild() throws IOException {
        Files.writeString(tree.resolve("search.min.js"), "");
        assertRefused(
                "third-party.toml does not name what these libraries are made of: [search.min.js]",
                KNOWN);
    }

    @Test
    void jarThatIsNoLongerShippedFailsTheBuild() throws IOException {
        Files.delete(tree.resolve("lib/one-1.2.jar"));
        assertRefused("third-party.toml names what is not shipped: [one]", KNOWN);
    }

    @Test
    void licenceThatIsNotAcceptedFailsTheBuild() {
        assertRefused(
                "one 1.2 has the licence GPL-3.0-only, which is not accepted",
                KNOWN.replace("license = \"Apache-2.0\"", "license = \"GPL-3.0-only\""));
    }
}
