package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Frames;
import jnvdocker.tests.world.HostileDaemon;
import jnvdocker.tests.world.HostileDaemon.Script;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.RecordingHelper;
import jnvdocker.tests.world.RuntimeProgram;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Our runtime is killed at each of its system calls, while it edits a container's creation. */
@Tag("root")
class RuntimeCrashTest {
    private static final String OLD = "{\"env\":[\"NVIDIA_VISIBLE_DEVICES=all\"]}";
    private static final String NEW = "{\"env\":[\"NVIDIA_VISIBLE_DEVICES=void\"]}";
    private static final Script EDIT = Script.saying(new Frames().out(NEW).exit(0).toBytes());

    private final Path directory = Directories.make("oci");
    private final Path bundle = directory.resolve("bundle");
    private final Path config = bundle.resolve("config.json");
    private final Path beside = bundle.resolve("config.json.jnvdocker");

    @AfterEach
    void removeAll() {
        Directories.remove(directory);
    }

    /**
     * Until it is renamed, the new file lies beside the old one; the next creation removes it. At
     * every other moment the old file is alone.
     */
    @Test
    void killedAtAnyCallItLeavesTheOldTextOrTheNewOne() throws IOException {
        Path bin = Files.createDirectory(directory.resolve("bin"));
        RecordingHelper real = new RecordingHelper(bin, "runc");
        Path built = Project.source("native").resolve("target/nvidia-container-runtime");
        RuntimeProgram runtime = new RuntimeProgram(directory, built, bin.resolve("runc"));
        Files.createDirectory(bundle);
        List<String> besides = new ArrayList<>();
        int changed = 0;
        try (HostileDaemon _ = new HostileDaemon(runtime.socket(), EDIT)) {
            Files.writeString(config, OLD);
            for (String call : calls(runtime)) {
                Files.deleteIfExists(beside);
                Files.writeString(config, OLD);
                create(runtime, "-e", "inject=" + call);
                assertTrue(!real.wasCalled(), call);
                String text = Files.readString(config);
                assertTrue(text.equals(NEW) || text.equals(OLD) && changed == 0, call + text);
                changed += text.equals(NEW) ? 1 : 0;
                if (Files.exists(beside)) {
                    besides.add(call.split(":")[0]);
                }
                try (Stream<Path> files = Files.list(bundle)) {
                    files.forEach(it -> assertTrue(it.equals(config) || it.equals(beside)));
                }
            }
            assertTrue(changed >= 3, "changed at " + changed);
            assertEquals(List.of("write", "fchown", "fchmod", "close", "renameat"), besides);
            Files.writeString(config, OLD);
            Files.writeString(beside, "half a te");
            assertEquals(
                    RecordingHelper.EXIT_CODE,
                    Command.of(runtime.path(), "create", "-b", bundle, "c1").run().exitCode());
            assertTrue(Files.notExists(beside));
        }
    }

    /**
     * The system calls until it becomes another program, each as strace names it for an injection.
     */
    private List<String> calls(RuntimeProgram runtime) throws IOException {
        create(runtime);
        Files.delete(directory.resolve("bin/called.status"));
        Map<String, Integer> seen = new HashMap<>();
        List<String> calls = new ArrayList<>();
        for (String line : Files.readAllLines(directory.resolve("trace"))) {
            String name = line.replaceFirst("\\(.*", "");
            int when = seen.merge(name, 1, Integer::sum);
            if (name.equals("execve") && when == 2) {
                break;
            }
            calls.add(name + ":signal=KILL:when=" + when);
        }
        assertTrue(calls.size() > 30, calls::toString);
        return calls.subList(1, calls.size());
    }

    private void create(RuntimeProgram runtime, String... options) {
        List<Object> words = new ArrayList<>(List.of("strace", "-o", directory.resolve("trace")));
        words.addAll(List.of(options));
        words.addAll(List.of(runtime.path(), "create", "-b", bundle, "c1"));
        Command.of(words.toArray()).run();
    }
}
