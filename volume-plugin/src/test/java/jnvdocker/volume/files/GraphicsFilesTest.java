package jnvdocker.volume.files;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

import java.util.Optional;

class GraphicsFilesTest {
    private static final String ICD =
            """
            {"file_format_version": "1.0.0",
             "ICD": {"library_path" : "%slibGLX_nvidia.so.0", "api_version": "1.3.242"}}
            """;

    @Test
    void librariesAreNamedWithoutTheirDirectories() {
        assertEquals(
                Optional.of(ICD.formatted("")),
                GraphicsFiles.withoutPaths(
                        ICD.formatted("/usr/lib/x86_64-linux-gnu/nvidia/current/")));
        assertEquals(Optional.empty(), GraphicsFiles.withoutPaths(ICD.formatted("")));
        assertEquals(Optional.empty(), GraphicsFiles.withoutPaths(ICD.formatted("../")));
    }
}
