package jnvdocker.oci.install;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

class ContainerdImportsTest {
    @TempDir private Path directory;

    private Path main;

    @BeforeEach
    void make() throws IOException {
        main = directory.resolve("config.toml");
        Files.createDirectory(directory.resolve("conf.d"));
        for (String name : List.of("b.toml", "a.toml", "c.conf")) {
            write("conf.d/" + name, "# " + name);
        }
    }

    private void write(String name, String text) throws IOException {
        Files.writeString(directory.resolve(name), text);
    }

    private List<String> imports(String text) throws Exception {
        return ContainerdImports.of(main, text).stream()
                .map(part -> directory.relativize(part.file()).toString())
                .toList();
    }

    @Test
    void patternsAreFollowedInOrder() throws Exception {
        assertEquals(List.of(), imports("version = 3"));
        assertEquals(List.of(), imports("imports = []"));
        assertEquals(
                List.of("conf.d/a.toml", "conf.d/b.toml"), imports("imports = ['conf.d/*.toml']"));
        String absolute = "imports = ['" + directory + "/conf.d/c.conf', 'conf.d/*.toml']";
        assertEquals(List.of("conf.d/c.conf", "conf.d/a.toml", "conf.d/b.toml"), imports(absolute));
    }

    @Test
    void whatIsNotThereOrWrongIsLeftOut() throws Exception {
        assertEquals(
                List.of(), imports("imports = ['gone.toml', 'gone/*', 'conf.d/[', '/', '', 3]"));
        assertEquals(List.of(), imports("imports = 'conf.d/*'"));
        assertEquals(List.of(), imports("imports = ["));
    }

    @Test
    void importedFilesImportOthersOnce() throws Exception {
        write("conf.d/a.toml", "imports = ['c.conf', '../config.toml']");
        write("conf.d/c.conf", "imports = ['a.toml']");
        assertEquals(
                List.of("conf.d/a.toml", "conf.d/c.conf"), imports("imports = ['conf.d/a.toml']"));
    }

    /** An imported file may give the name to another program after we were installed. */
    @Test
    void statusSeesWhatAnImportedFileSays() throws Exception {
        String handler =
                "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia.options]\n";
        write("conf.d/a.toml", "version = 3\n" + handler + "BinaryName = '/theirs'\n");
        write(
                "config.toml",
                "version = 3\nimports = ['conf.d/a.toml']\n" + handler + "BinaryName = '/ours'\n");
        Registration registration =
                new Registration(
                        EngineKind.CONTAINERD, main, "nvidia", Path.of("/x"), Optional.empty());
        assertEquals(
                Optional.of(Path.of("/theirs")),
                RuntimeHealth.found(registration).map(EngineSettings.Found::program));
    }
}
