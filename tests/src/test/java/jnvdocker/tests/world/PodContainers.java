package jnvdocker.tests.world;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.kubernetes.kubelet.AllocateAnswer;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/**
 * The containers of pods in an engine, each with what its kubelet was answered for it, in cgroups
 * like those that a kubelet makes.
 */
public final class PodContainers implements AutoCloseable {
    private static final Path CGROUPS = Path.of("/sys/fs/cgroup");

    private final PodEngine engine;
    private final String parent = "kubepods-" + Project.RUN;
    private final Map<String, String> sandboxes = new ConcurrentHashMap<>();
    private final Map<String, Integer> attempts = new ConcurrentHashMap<>();
    private final Set<String> privileged = ConcurrentHashMap.newKeySet();

    public PodContainers(PodEngine engine) {
        this.engine = engine;
    }

    /** Makes a cgroup of a pod, as a kubelet does before the pod's first container starts. */
    public void prepare(TestPod pod) {
        Path pids = CGROUPS.resolve("pids");
        try {
            Files.createDirectories(
                    (Files.isDirectory(pids) ? pids : CGROUPS)
                            .resolve(parent + "/besteffort/pod" + pod.uid()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The containers of this pod are privileged. */
    public void privileged(TestPod pod) {
        privileged.add(pod.uid());
    }

    private ObjectNode pod(TestPod pod, String handler) {
        ObjectNode json = JsonNodeFactory.instance.objectNode();
        json.put("name", pod.name());
        json.put("namespace", pod.namespace());
        json.put("uid", pod.uid());
        json.put("handler", handler);
        json.put("privileged", privileged.contains(pod.uid()));
        json.put("parent", "/" + parent + "/besteffort/pod" + pod.uid());
        return json;
    }

    /**
     * Starts a container of a pod.
     *
     * @param answer what the kubelet was answered
     * @param handler of the pod's RuntimeClass; empty for none
     * @param command that it runs
     * @return its id, as the only line, unless the engine has refused it
     */
    public Command.Result start(
            TestPod pod,
            String container,
            AllocateAnswer.Container answer,
            String handler,
            String... command) {
        ObjectNode sandbox = pod(pod, handler);
        String id =
                sandboxes.computeIfAbsent(
                        pod.uid(), _ -> engine.cri("sandbox", sandbox).ok().out().strip());
        ObjectNode json = JsonNodeFactory.instance.objectNode();
        json.put("name", container);
        json.put("attempt", attempts.merge(pod.uid() + container, 1, Integer::sum));
        json.put("image", PodEngine.IMAGE);
        json.set("pod", sandbox);
        ArrayNode words = json.putArray("command");
        List.of(command).forEach(words::add);
        ArrayNode devices = json.putArray("devices");
        answer.nodes().forEach(it -> devices.addArray().add(it.containerPath()).add(it.hostPath()));
        ArrayNode mounts = json.putArray("mounts");
        answer.mounts().forEach(it -> mounts.addArray().add(it.containerPath()).add(it.hostPath()));
        ObjectNode variables = json.putObject("variables");
        answer.variables().forEach(it -> variables.put(it.name(), it.value()));
        ArrayNode cdi = json.putArray("cdi");
        answer.cdi().forEach(cdi::add);
        return engine.cri("start", id, json);
    }

    /** What a shell's script in a container prints. */
    public String run(String container, String script) {
        return engine.cri("exec", container, "sh", "-c", script).ok().out();
    }

    /** Ends a container, and returns when it has ended. */
    public void stop(String container) {
        engine.cri("stop", container).ok();
    }

    /** Ends a pod. */
    public void end(TestPod pod) {
        if (sandboxes.containsKey(pod.uid())) {
            engine.cri("end", sandboxes.remove(pod.uid())).ok();
        }
    }

    /** Removes the cgroups; all pods must have ended. */
    @Override
    public void close() {
        try (DirectoryStream<Path> hierarchies = Files.newDirectoryStream(CGROUPS)) {
            for (Path hierarchy : hierarchies) {
                if (Files.isDirectory(hierarchy.resolve(parent))) {
                    remove(hierarchy.resolve(parent));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void remove(Path group) throws IOException {
        try (Stream<Path> groups = Files.walk(group)) {
            for (Path each : groups.filter(Files::isDirectory).toList().reversed()) {
                Files.delete(each);
            }
        }
    }
}
