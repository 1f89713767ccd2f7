package jnvdocker.command.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.networknt.schema.InputFormat;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaLocation;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SchemaRegistryConfig;
import com.networknt.schema.SpecificationVersion;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** The schemas of the {@code --json} output of our commands, from the documentation. */
public final class JsonSchemas {
    /** Found from the directory of any module. */
    private static final Path DIRECTORY =
            Path.of("../src/site/resources/schema").toAbsolutePath().normalize();

    private static final SchemaRegistry SCHEMAS =
            SchemaRegistry.withDefaultDialect(
                    SpecificationVersion.DRAFT_2020_12,
                    registry ->
                            registry.schemas(JsonSchemas::read)
                                    .schemaRegistryConfig(
                                            SchemaRegistryConfig.builder()
                                                    .formatAssertionsEnabled(true)
                                                    .build()));

    private JsonSchemas() {}

    /**
     * Fails unless a command may print that.
     *
     * @param command its words, as in {@code gpu-ls}
     */
    public static void check(String command, String json) {
        assertEquals(
                List.of(),
                schema(DIRECTORY.resolve(command + ".json").toUri().toString())
                        .validate(json, InputFormat.JSON),
                () -> command + " printed\n" + json);
    }

    /** Returns the schema at an address, which may end with a place in a file. */
    public static Schema schema(String address) {
        return SCHEMAS.getSchema(SchemaLocation.of(address));
    }

    /** Returns the files of all schemas. */
    static List<Path> files() throws IOException {
        try (Stream<Path> files = Files.list(DIRECTORY)) {
            return files.sorted().toList();
        }
    }

    /** Reads schemas that are referred to as well. */
    private static String read(String address) {
        try {
            return address.startsWith("file:")
                    ? Files.readString(Path.of(URI.create(address)))
                    : null;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
