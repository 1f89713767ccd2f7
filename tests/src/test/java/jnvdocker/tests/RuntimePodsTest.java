package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.kubelet.AllocateAnswer;
import jnvdocker.tests.world.Client;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Folders;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.TestEngine;
import jnvdocker.tests.world.TestKubelet;
import jnvdocker.tests.world.TestPod;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Pods in the containerd of this machine, with the handler that {@code jnvdocker runtime install}
 * has written or without one, requested as Kubernetes' kubelet does.
 */
@Tag("docker")
@Tag("root")
class RuntimePodsTest {
    private static final String IMAGE = "docker.io/library/pause:latest";

    private static Lab lab;
    private static Path folder;
    private static Process containerd;

    @BeforeAll
    static void open() throws Exception {
        lab = new Lab(TestEngine.Release.wanted());
        folder = Folders.make("p");
        Path config = folder.resolve("config.toml");
        Files.writeString(
                config,
                """
                version = 2
                root = "DIR/root"
                state = "DIR/state"
                [grpc]
                  address = "DIR/s"
                [plugins."io.containerd.grpc.v1.cri"]
                  sandbox_image = "IMAGE"
                  restrict_oom_score_adj = true
                  [plugins."io.containerd.grpc.v1.cri".containerd]
                    snapshotter = "native"
                """
                        .replace("DIR", folder.toString())
                        .replace("IMAGE", IMAGE));
        lab.jnvdocker(
                        "runtime",
                        "install",
                        "--engine=containerd",
                        "--config",
                        config,
                        "--runtime-dir",
                        folder.resolve("runtime"))
                .ok();
        containerd =
                Command.of("containerd", "--config", config)
                        .after("unshare", "-m", "--propagation", "slave")
                        .log(folder.resolve("log"))
                        .start();
        lab.engine().image("pause", "--small", "--change", "CMD [\"sleep\", \"1000\"]");
        Path image = folder.resolve("pause.tar");
        lab.docker("save", "-o", image, "pause").ok();
        Lab.await(() -> {
            Command.Result imported =
                    Command.of("ctr", "-a", socket(), "-n", "k8s.io", "images", "import", image)
                            .run();
            return imported.exitCode() == 0 ? List.of() : List.of(imported.toString());
        });
    }

    @AfterAll
    static void close() throws Exception {
        lab.jnvdocker("runtime", "uninstall");
        containerd.destroy();
        containerd.waitFor();
        lab.close();
        Folders.remove(folder);
    }

    private static Path socket() {
        return folder.resolve("s");
    }

    private static Command.Result cri(Object... words) {
        List<Object> all = new ArrayList<>(List.of(Client.CRI.program(), socket()));
        all.addAll(Arrays.asList(words));
        return Command.of(all.toArray()).run();
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
        Command.Result pod = cri("pod", "one", "nvidia", IMAGE, "jnvdocker.gpus=device=1,2").ok();
        String sandbox = ids(pod).getFirst();
        String container = ids(pod).getLast();
        awaitHolders(Map.of(1, shortened(container), 2, shortened(container)));
        Command.Result next = cri("pod", "two", "nvidia", IMAGE, "jnvdocker.gpus=3");
        assertEquals(1, next.exitCode(), next::toString);
        assertTrue(next.err().contains("StartContainer: "), next::toString);
        assertTrue(next.err().contains("jnvdocker: 3 GPUs requested, but only "), next::toString);
        String stays = lab.jnvdocker("runtime", "uninstall", "--dry-run").ok().out();
        for (String id : List.of(sandbox, container)) {
            assertTrue(stays.contains("k8s.io/" + shortened(id)), stays);
        }
        cri("remove", ids(next).getFirst(), ids(next).getLast()).ok();
        cri("remove", sandbox, container).ok();
        awaitHolders(Map.of());
    }

    /** In the runtime that knows nothing of us. */
    @Test
    void podOfADevicePluginHasItsGpuAloneUntilNothingOfItRuns() throws Exception {
        String uid = UUID.randomUUID().toString();
        String cgroup = "/kubepods-" + ProcessHandle.current().pid() + "/pod" + uid;
        TestPod pod = TestPod.of(uid, 1);
        try (TestKubelet kubelet = TestKubelet.start(folder.resolve("kubelet"))) {
            restartDaemon("[kubernetes]\nenabled = true\nkubelet_dir = \"DIR/kubelet\"\n");
            Lab.await(() ->
                    kubelet.healthy(TestKubelet.GPU).size() == 4
                            ? List.of()
                            : List.of("healthy are " + kubelet.healthy(TestKubelet.GPU)));
            assertInstanceOf(TestKubelet.Admitted.class, kubelet.admit(pod));
            String sandbox = ids(cri("sandbox", "three", uid, cgroup).ok()).getFirst();
            AllocateAnswer.Container answer =
                    assertInstanceOf(TestKubelet.Running.class, kubelet.start(pod, "main"))
                            .answer();
            List<Object> words =
                    new ArrayList<>(List.of("container", "three", uid, cgroup, sandbox, IMAGE));
            words.addAll(words(answer));
            String container = ids(cri(words.toArray()).ok()).getFirst();
            int gpu = lab.registry().holders().keySet().iterator().next();
            assertEquals("ENXIO", in(container, "tryopen /dev/nvidia" + gpu));
            int other = (gpu + 1) % 4;
            assertEquals(
                    "EPERM", in(container, "mknod /n c 195 %d && tryopen /n".formatted(other)));
            assertEquals("void", in(container, "echo $NVIDIA_VISIBLE_DEVICES"));
            assertEquals(
                    "touch: /usr/local/nvidia/x: Read-only file system",
                    in(
                            container,
                            "test -x /usr/local/nvidia/bin/nvidia-smi && touch"
                                    + " /usr/local/nvidia/x 2>&1"));
            kubelet.forceDelete(pod);
            int lists = kubelet.questions();
            Lab.await(() ->
                    kubelet.questions() > lists + 1 ? List.of() : List.of("it is not asked"));
            assertEquals(Map.of(gpu, "?"), lab.registry().holders());
            cri("remove", sandbox, container).ok();
            awaitHolders(Map.of());
        } finally {
            restartDaemon("");
        }
    }

    private static void restartDaemon(String config) {
        lab.daemon().stop();
        lab.daemon().config(config.replace("DIR", folder.toString()));
        lab.startDaemon();
    }

    private static List<String> words(AllocateAnswer.Container answer) {
        List<String> words = new ArrayList<>();
        answer.nodes()
                .forEach(it -> words.add("device=" + it.hostPath() + ":" + it.containerPath()));
        answer.mounts()
                .forEach(it -> {
                    assertTrue(it.readOnly());
                    words.add("mount=" + it.hostPath() + ":" + it.containerPath());
                });
        answer.variables().forEach(it -> words.add("env=" + it.name() + "=" + it.value()));
        return words;
    }

    /** What a shell in a container says. */
    private static String in(String container, String script) {
        return Command.of(
                        "ctr",
                        "-a",
                        socket(),
                        "-n",
                        "k8s.io",
                        "tasks",
                        "exec",
                        "--exec-id",
                        UUID.randomUUID(),
                        container,
                        "sh",
                        "-c",
                        script)
                .run()
                .out()
                .strip();
    }
}
