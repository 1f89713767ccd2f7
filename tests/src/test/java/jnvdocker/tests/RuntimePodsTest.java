package jnvdocker.tests;

import static jnvdocker.tests.world.PodEngine.Kind.CRIO;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.PodEngine;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.util.List;
import java.util.Map;

/**
 * Pods in containerd 2, or in the engine that {@code PODS} in the environment names, with the
 * handler that {@code jnvdocker runtime install} has written, requested as Kubernetes' kubelet
 * does.
 */
@Tag("docker")
@Tag("root")
class RuntimePodsTest {
    private static final PodEngine.Kind KIND = PodEngine.Kind.wanted();

    private static Lab lab;
    private static PodEngine engine;

    @BeforeAll
    static void open() throws Exception {
        lab = new Lab(TestEngine.Release.wanted());
        engine = new PodEngine(KIND);
        engine.installRuntime(lab);
        engine.start(lab);
    }

    @AfterAll
    static void close() {
        lab.jnvdocker("runtime", "uninstall");
        engine.close();
        lab.close();
    }

    /** Returns its ids, the sandbox's first. */
    private static List<String> ids(Command.Result pod) {
        return pod.out().lines().toList();
    }

    private static void awaitHolders(Map<Integer, String> holders) {
        Lab.await(() -> {
            Map<Integer, String> now = lab.registry().holders();
            return now.equals(holders) ? List.of() : List.of("should be " + holders + ": " + now);
        });
    }

    private static String shortened(String id) {
        return id.substring(0, 12);
    }

    @Test
    void annotationOfAPodIsForItsContainers() throws IOException {
        Command.Result pod =
                engine.cri("pod", "one", "nvidia", PodEngine.IMAGE, "jnvdocker.gpus=device=1,2")
                        .ok();
        String sandbox = ids(pod).getFirst();
        String container = ids(pod).getLast();
        awaitHolders(Map.of(1, shortened(container), 2, shortened(container)));
        Command.Result next =
                engine.cri("pod", "two", "nvidia", PodEngine.IMAGE, "jnvdocker.gpus=3");
        assertEquals(1, next.exitCode(), next::toString);
        assertTrue(next.err().contains(KIND == CRIO ? "CreateContainer: " : "StartContainer: "));
        assertTrue(next.err().contains("jnvdocker: 3 GPUs requested, but only "), next::toString);
        String stays = lab.jnvdocker("runtime", "uninstall", "--dry-run").ok().out();
        List<String> running =
                KIND == CRIO
                        ? List.of("k8s_main_one_default_one_0")
                        : List.of("k8s.io/" + shortened(sandbox), "k8s.io/" + shortened(container));
        for (String name : running) {
            assertTrue(stays.contains(name), stays);
        }
        engine.cri("end", ids(next).getFirst()).ok();
        engine.cri("end", sandbox).ok();
        awaitHolders(Map.of());
    }
}
