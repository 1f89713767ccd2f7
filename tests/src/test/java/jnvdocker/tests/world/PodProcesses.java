package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** The processes of pods, in cgroups like those that a kubelet makes. */
public final class PodProcesses implements AutoCloseable {
    private static final Path DEVICES = Path.of("/sys/fs/cgroup/devices");

    /** Moves itself, and then becomes the program. */
    private static final String ENTER = "echo $$ > \"$0/cgroup.procs\"; exec \"$@\"";

    private final Path kubepods;
    private final Map<String, List<Process>> processes = new HashMap<>();

    public PodProcesses() {
        Path hierarchy = Files.isDirectory(DEVICES) ? DEVICES : Path.of("/sys/fs/cgroup");
        kubepods = hierarchy.resolve("kubepods-" + Project.RUN);
    }

    /** Makes the cgroup of a pod, in which nothing runs yet. */
    public Path prepare(TestPod pod) {
        try {
            return Files.createDirectories(kubepods.resolve("besteffort/pod" + pod.uid()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Starts a program in a pod. */
    public Process start(TestPod pod, Object... program) {
        return start(prepare(pod).resolve("main"), pod, program);
    }

    /** Starts a program in a pod of a kubelet that makes no cgroups for pods. */
    public Process startApart(TestPod pod, Object... program) {
        return start(kubepods.resolve("k8s.io/" + "0e16cb51".repeat(8)), pod, program);
    }

    private synchronized Process start(Path directory, TestPod pod, Object... program) {
        try {
            Path group = Files.createDirectories(directory);
            Process process = Command.of(program).after("sh", "-c", ENTER, group).start();
            processes.computeIfAbsent(pod.uid(), _ -> new ArrayList<>()).add(process);
            Lab.await(() ->
                    procs(group).contains(Long.toString(process.pid())) || !process.isAlive()
                            ? List.of()
                            : List.of("it is not in " + group));
            return process;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<String> procs(Path group) {
        try {
            return Files.readAllLines(group.resolve("cgroup.procs"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Kills all processes of a pod, and returns when they are gone. Its cgroups stay. */
    public synchronized void end(TestPod pod) {
        for (Process process : processes.getOrDefault(pod.uid(), List.of())) {
            process.destroyForcibly().onExit().join();
        }
        processes.remove(pod.uid());
    }

    @Override
    public synchronized void close() {
        processes.values().stream()
                .flatMap(List::stream)
                .forEach(it -> it.destroyForcibly().onExit().join());
        if (Files.exists(kubepods)) {
            Lab.await(this::remaining);
        }
    }

    /** A cgroup is busy for a moment after the end of its last process. */
    private List<String> remaining() {
        try (Stream<Path> groups = Files.walk(kubepods)) {
            for (Path group : groups.filter(Files::isDirectory).toList().reversed()) {
                Files.delete(group);
            }
            return List.of();
        } catch (IOException e) {
            return List.of(e.toString());
        }
    }
}
