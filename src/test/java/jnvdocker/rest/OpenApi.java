package jnvdocker.rest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.InputFormat;

import jnvdocker.command.gpu.JsonSchemas;
import jnvdocker.web.WebAnswer;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The description of the pages in the documentation. */
public final class OpenApi {
    /** Found from the directory of any module. */
    private static final Path FILE =
            Path.of("../src/site/resources/openapi.json").toAbsolutePath().normalize();

    private OpenApi() {}

    static JsonNode read() throws IOException {
        return new ObjectMapper().readTree(FILE.toFile());
    }

    /** Returns the paths that it describes. */
    public static List<String> paths() throws IOException {
        List<String> paths = new ArrayList<>();
        read().path("paths").fieldNames().forEachRemaining(paths::add);
        return paths;
    }

    /** Fails unless a page may be answered so. */
    public static void check(String path, WebAnswer.Page page) throws IOException {
        check(path, page.status(), page.type(), page.body());
    }

    /** Checks an answer that came from a server. */
    public static void check(String path, int status, String type, String body) throws IOException {
        String place = "/paths/" + escaped(path) + "/get/responses/" + status;
        JsonNode content = read().at(place).path("content").path(type);
        assertFalse(content.isMissingNode(), path + " was answered with " + status + ", " + type);
        if (type.equals(WebAnswer.JSON)) {
            checkData(place + "/content/" + escaped(type) + "/schema", path, body);
        }
    }

    /**
     * Fails unless it is such a document.
     *
     * @param schema the name of its description
     */
    public static void checkData(String schema, String json) {
        checkData("/components/schemas/" + schema, schema, json);
    }

    private static void checkData(String place, String what, String json) {
        assertEquals(
                List.of(),
                JsonSchemas.schema(FILE.toUri() + "#" + place).validate(json, InputFormat.JSON),
                () -> what + " was\n" + json);
    }

    private static String escaped(String name) {
        return name.replace("~", "~0").replace("/", "~1");
    }
}
