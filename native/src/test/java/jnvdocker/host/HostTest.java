package jnvdocker.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.posix.FileErrors;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

class HostTest {
    @TempDir Path directory;
    private Path root;
    private Host host;

    @BeforeEach
    void makeRoot() throws IOException {
        root = Files.createDirectory(directory.toRealPath().resolve("root"));
        Files.createDirectories(root.resolve("driver/lib"));
        host = Host.at(root);
    }

    @Test
    void rootMustExist() {
        assertThrows(NoSuchFileException.class, () -> Host.at(directory.resolve("nothing")));
    }

    @Test
    void rootIsKnownWithoutItsLinks() throws IOException {
        Path link = Files.createSymbolicLink(directory.resolve("link"), root);
        assertEquals(root, Host.at(link).root());
    }

    @Test
    void onlySlashIsThisMachine() throws IOException {
        assertFalse(host.isThisMachine());
        assertTrue(Host.at(Path.of("/")).isThisMachine());
    }

    @Test
    void leadingSlashMakesNoDifference() throws IOException {
        assertEquals(root.resolve("driver/lib"), host.resolve("/driver/lib"));
        assertEquals(root.resolve("driver/lib"), host.resolve("driver/lib"));
    }

    @Test
    void emptyPathAndSlashAreTheRoot() throws IOException {
        assertEquals(root, host.resolve(""));
        assertEquals(root, host.resolve("/"));
    }

    @Test
    void dotsAndDoubledSlashesAreTaken() throws IOException {
        assertEquals(root.resolve("driver/lib"), host.resolve("//driver/./bin/..//lib/."));
    }

    @Test
    void missingNamesStayAsTheyAre() throws IOException {
        assertEquals(root.resolve("opt/none/a"), host.resolve("/opt/none/a"));
    }

    @Test
    void relativeLinkStartsAtItsDirectory() throws IOException {
        link("driver/lib/libcuda.so.1", "../lib64/libcuda.so.535");
        assertEquals(
                root.resolve("driver/lib64/libcuda.so.535"),
                host.resolve("/driver/lib/libcuda.so.1"));
    }

    @Test
    void absoluteLinkStartsAtTheRoot() throws IOException {
        link("lib", "/driver/lib");
        assertEquals(root.resolve("driver/lib/libcuda.so.1"), host.resolve("/lib/libcuda.so.1"));
    }

    @Test
    void linkOfLinksIsFollowedToTheEnd() throws IOException {
        link("a", "b");
        link("b", "/driver/c");
        link("driver/c", "lib");
        assertEquals(root.resolve("driver/lib"), host.resolve("/a"));
    }

    @Test
    void danglingLinkIsItsTarget() throws IOException {
        link("dev", "/somewhere/else");
        assertEquals(root.resolve("somewhere/else/null"), host.resolve("/dev/null"));
    }

    @Test
    void nothingLeadsAboveTheRoot() throws IOException {
        Files.createDirectory(directory.resolve("secret"));
        link("driver/up", "../../../../secret");
        assertEquals(root.resolve("secret"), host.resolve("/driver/up"));
        assertEquals(root.resolve("secret"), host.resolve("../../secret"));
        assertEquals(root, host.resolve("/../.."));
    }

    @Test
    void dotsAfterALinkAreThoseOfItsTarget() throws IOException {
        Files.createDirectories(root.resolve("opt/nvidia/bin"));
        link("bin", "/opt/nvidia/bin");
        assertEquals(root.resolve("opt/nvidia/lib"), host.resolve("/bin/../lib"));
    }

    @Test
    void lastLinkIsLeftWhenItsParentIsRequested() throws IOException {
        link("lib", "/driver/lib");
        link("driver/lib/libcuda.so", "libcuda.so.1");
        assertEquals(root.resolve("driver/lib/libcuda.so"), host.resolveParent("/lib/libcuda.so"));
        assertEquals(root.resolve("driver/lib/libcuda.so.1"), host.resolve("/lib/libcuda.so"));
    }

    @Test
    void linksInACircleAreAnError() throws IOException {
        link("a", "b");
        link("b", "a");
        var error = assertThrows(FileSystemLoopException.class, () -> host.resolve("/a/x"));
        assertTrue(error.getMessage().contains("a/x"), error.getMessage());
    }

    @Test
    void linkToItselfIsAnErrorUnlessItIsLast() throws IOException {
        link("self", "self");
        assertThrows(FileSystemLoopException.class, () -> host.resolve("/self"));
        assertEquals(root.resolve("self"), host.resolveParent("/self"));
    }

    @Test
    void linkThatGrowsIsAnError() throws IOException {
        link("grow", "grow/grow/x");
        assertThrows(FileSystemLoopException.class, () -> host.resolve("/grow"));
    }

    @Test
    void fortyLinksAreFollowedAsTheKernelDoes() throws IOException {
        chain(40);
        assertEquals(root.resolve("link0"), host.resolve("/link40"));
        Files.createFile(root.resolve("link0"));
        assertTrue(Files.exists(root.resolve("link40")), "the kernel follows them too");
    }

    @Test
    void moreThanFortyLinksAreAnError() throws IOException {
        chain(41);
        assertThrows(FileSystemLoopException.class, () -> host.resolve("/link41"));
    }

    @Test
    void pathsAreSpelledAsTheHostDoes() throws IOException {
        assertEquals("/dev/nvidia0", host.spell(host.resolve("/dev/nvidia0")));
        assertEquals("/", host.spell(root));
        assertEquals("/dev/nvidia0", Host.at(Path.of("/")).spell(Path.of("/dev/nvidia0")));
    }

    @Test
    void pathOutOfTheRootHasNoSpelling() {
        assertThrows(
                IllegalArgumentException.class, () -> host.spell(directory.resolve("root2/dev")));
    }

    @Test
    void circleIsNamedAsItIsOnThisMachine() throws IOException {
        link("a", "a");
        var error = assertThrows(FileSystemLoopException.class, () -> host.resolve("/a"));
        assertEquals(
                root.resolve("a") + ": Too many levels of symbolic links",
                FileErrors.describe(error));
    }

    private void link(String name, String target) throws IOException {
        Files.createSymbolicLink(root.resolve(name), Path.of(target));
    }

    /** Makes a chain: link40 leads to link39 and so on; link0 does not exist. */
    private void chain(int links) throws IOException {
        for (int i = 1; i <= links; i++) {
            link("link" + i, "link" + (i - 1));
        }
    }
}
