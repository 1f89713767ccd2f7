package jnvdocker.volume;

import static org.junit.jupiter.api.Assertions.assertFalse;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

class DirectoryTreeTest {
    @TempDir Path directory;

    /** This happens when the end of a container is handled on several threads. */
    @Test
    void deletionsOfTheSameAtATimeDoNotFail() throws Exception {
        Path tree = directory.resolve("tree");
        for (int i = 0; i < 300; i++) {
            Path one = Files.createDirectories(tree.resolve("a" + i + "/b"));
            Files.createSymbolicLink(one.resolve("c"), Path.of("/nowhere"));
        }
        Callable<Void> deletion =
                () -> {
                    DirectoryTree.delete(tree);
                    return null;
                };
        List<Callable<Void>> deletions = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            deletions.add(deletion);
        }
        try (var threads = Executors.newFixedThreadPool(8)) {
            for (Future<Void> each : threads.invokeAll(deletions)) {
                each.get();
            }
        }
        assertFalse(Files.exists(tree, LinkOption.NOFOLLOW_LINKS));
        DirectoryTree.delete(tree);
    }
}
