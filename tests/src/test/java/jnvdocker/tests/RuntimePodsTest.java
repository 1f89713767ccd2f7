package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.TestContainerd;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.util.List;
import java.util.Map;

/**
 * Pods in Debian sid's containerd, or with {@code CONTAINERD=INSTALLED} in this machine's, with the
 * handler that {@code jnvdocker runtime install} has written, requested as Kubernetes' kubelet
 * does.
 */
@Tag("docker")
@Tag("root")
class RuntimePodsTest {
    private static Lab lab;
    private static TestContainerd containerd;

    @BeforeAll
    static void open() throws Exception {
        lab = new Lab(TestEngine.Release.wanted());
        containerd = new TestContainerd(TestContainerd.Release.wanted());
        lab.jnvdocker(
                        "runtime",
                        "install",
                        "--engine=containerd",
                        "--config",
                        containerd.config(),
                        "--runtime-dir",
                        containerd.folder().resolve("runtime"))
                .ok();
        containerd.start(lab);
    }

    @AfterAll
    static void close() {
        lab.jnvdocker("runtime", "uninstall");
        containerd.close();
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
                containerd
                        .cri(
                                "pod",
                                "one",
                                "nvidia",
                                TestContainerd.IMAGE,
                                "jnvdocker.gpus=device=1,2")
                        .ok();
        String sandbox = ids(pod).getFirst();
        String container = ids(pod).getLast();
        awaitHolders(Map.of(1, shortened(container), 2, shortened(container)));
        Command.Result next =
                containerd.cri("pod", "two", "nvidia", TestContainerd.IMAGE, "jnvdocker.gpus=3");
        assertEquals(1, next.exitCode(), next::toString);
        assertTrue(next.err().contains("StartContainer: "), next::toString);
        assertTrue(next.err().contains("jnvdocker: 3 GPUs requested, but only "), next::toString);
        String stays = lab.jnvdocker("runtime", "uninstall", "--dry-run").ok().out();
        for (String id : List.of(sandbox, container)) {
            assertTrue(stays.contains("k8s.io/" + shortened(id)), stays);
        }
        containerd.cri("remove", ids(next).getFirst(), ids(next).getLast()).ok();
        containerd.cri("remove", sandbox, container).ok();
        awaitHolders(Map.of());
    }
}
