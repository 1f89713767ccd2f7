package jnvdocker.command.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.InputFormat;
import com.networknt.schema.SpecificationVersion;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The schemas are valid, and leave nothing open. */
class JsonSchemasTest {
    private static final Path PAGE = Path.of("site/markdown/json.md");

    private static JsonNode read(Path file) throws IOException {
        return new ObjectMapper().readTree(file.toFile());
    }

    @Test
    void eachIsASchemaAndIsInTheManual() throws IOException {
        String page = Files.readString(PAGE);
        assertEquals(19, JsonSchemas.files().size());
        for (Path file : JsonSchemas.files()) {
            assertEquals(
                    List.of(),
                    JsonSchemas.schema(SpecificationVersion.DRAFT_2020_12.getDialectId())
                            .validate(Files.readString(file), InputFormat.JSON),
                    file::toString);
            assertTrue(page.contains("(../resources/schema/" + file.getFileName() + ")"));
        }
    }

    /** A new key must be described in its schema and in the manual first. */
    @Test
    void everyKeyIsAlwaysThereAndNoOther() throws IOException {
        String page = Files.readString(PAGE);
        for (Path file : JsonSchemas.files()) {
            for (JsonNode object : read(file).findParents("properties")) {
                List<String> keys = new ArrayList<>();
                object.path("properties").fieldNames().forEachRemaining(keys::add);
                List<String> required = new ArrayList<>();
                object.path("required").forEach(key -> required.add(key.asText()));
                assertEquals(keys, required, file::toString);
                assertEquals(
                        "false", object.path("additionalProperties").toString(), keys::toString);
                keys.forEach(key -> assertTrue(page.contains("`" + key + "`"), key));
            }
        }
    }

    @Test
    void whatIsNotAsItsSchemaSaysIsSeen() {
        JsonSchemas.check("gpu-prune", "{\"dry_run\":true,\"freed_bytes\":0,\"volumes\":[]}");
        for (String bad :
                List.of(
                        "{\"dry_run\":true,\"freed_bytes\":0}",
                        "{\"dry_run\":true,\"freed_bytes\":0,\"volumes\":[],\"new\":1}",
                        "{\"dry_run\":true,\"freed_bytes\":null,\"volumes\":[]}",
                        "{\"dry_run\":true,\"freed_bytes\":0,\"volumes\":[{}]}",
                        "[]")) {
            assertThrows(AssertionError.class, () -> JsonSchemas.check("gpu-prune", bad), bad);
        }
        assertThrows(
                AssertionError.class,
                () ->
                        JsonSchemas.check(
                                "gpu-history",
                                "{\"from\":\"yesterday\",\"until\":\"2026-03-05T12:00:00Z\","
                                        + "\"kept_since\":null,\"gpu\":null,\"gpu_hours\":0,"
                                        + "\"users\":[],\"leases\":null,\"missing\":[]}"));
    }
}
