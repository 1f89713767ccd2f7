package jnvdocker.tests.world;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import com.fasterxml.jackson.databind.JsonNode;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;

/**
 * A host with seven GPUs on which every kind of holder has one, and all that starts holders: an
 * engine whose containers outlive it, podman, a Mesos agent, a kubelet.
 */
public final class EachHolder implements AutoCloseable {
    /** How the holders start. The place of each is its GPU's index, except where it says so. */
    public enum Kind {
        /** {@code jnvdocker run} with the volume plugin. */
        RUN,
        /** A container that docker starts with our OCI runtime, without any client of ours. */
        RUNTIME,
        PODMAN,
        /** {@code jnvdocker gpu run}. */
        PROGRAM,
        MESOS,
        /** A pod that has its GPU of the device plugin. */
        POD,
        /** A share of a GPU. */
        SHARE,
        /** Another container on the GPU of {@link #RUN}. */
        BESIDE;

        public int gpu() {
            return this == BESIDE ? RUN.gpu() : ordinal();
        }

        /** The name in the views: of the container, the pod or the program. */
        public String shown() {
            return switch (this) {
                case PROGRAM -> "sleep";
                case POD -> "team-a/pod";
                default -> toString();
            };
        }

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    public static final int GPUS = 7;

    private final DriverRoot host = DriverRoot.make(DriverRoot.Release.DRIVER_535, GPUS);
    private final Path directory = Directories.make("eh");
    private final PodProcesses processes = new PodProcesses();
    private final Map<Kind, Long> pids = new HashMap<>();
    private final Lab lab;
    private final TestKubelet kubelet;
    private final RuntimeInstallation runtime;
    private final Podman podman;
    private final MesosAgent agent;
    private final List<String> uuids;
    private TestPod pod = TestPod.named("pod", 1);

    public EachHolder() throws IOException {
        FakeNvml.of(host, "a100x8");
        lab = new Lab(TestEngine.Release.DEBIAN_STABLE, host);
        Path kubelets = Files.createDirectory(directory.resolve("kubelet"));
        kubelet = TestKubelet.start(kubelets);
        lab.configure(
                "shareable = ['%d']\n[kubernetes]\nenabled = true\nkubelet_dir = '%s'\n"
                        .formatted(Kind.SHARE.gpu(), kubelets));
        runtime = RuntimeInstallation.of(lab);
        lab.engine().restart("--live-restore");
        podman = new Podman(lab, Client.podman(), directory);
        podman.installRuntime(lab);
        agent = new MesosAgent(lab.daemon().socket());
        uuids = lab.jnvdocker("gpu", "ls", "--json").json().findValuesAsText("uuid");
    }

    public Lab lab() {
        return lab;
    }

    /** Starts a holder of every kind; returns when each holds its GPU. */
    public void start() {
        // The driver is queried after the daemon's start, and a share needs the GPU's memory.
        Lab.await(() -> {
            String table = lab.jnvdocker("gpu", "ls").ok().out();
            return table.contains(" GiB ") ? List.of() : List.of(table);
        });
        lab.run("run", Kind.RUN.gpu(), "--runtime=runc");
        List<Object> runtimes =
                List.of(
                        "run",
                        "-d",
                        "--name=runtime",
                        "--runtime=nvidia",
                        "--label=jnvdocker.gpus=device=" + Kind.RUNTIME.gpu(),
                        "plain",
                        "sleep",
                        "1000");
        lab.docker(runtimes.toArray()).ok();
        podman.start("podman", "--runtime=nvidia", node(Kind.PODMAN)).ok();
        pids.put(
                Kind.PROGRAM,
                lab.daemon()
                        .jnvdocker("gpu", "run", "--gpus", device(Kind.PROGRAM), "sleep", "1000")
                        .start()
                        .pid());
        MesosTask task = MesosTask.of("echo up; exec sleep 1000").named("mesos").needsDriver();
        pids.put(
                Kind.MESOS,
                agent.launch(task.uuids(uuids.get(Kind.MESOS.gpu()))).awaitLine("up").pid());
        Object[] share = {
            "run", "-d", "--name=share", "--gpus=share=10G", "plain", "sleep", "1000"
        };
        lab.jnvdocker(share).ok();
        Object[] beside = {
            "run",
            "-d",
            "--name=beside",
            "--gpus=with=run",
            "--runtime=runc",
            "plain",
            "sleep",
            "1000"
        };
        lab.jnvdocker(beside).ok();
        for (Kind kind : List.of(Kind.RUN, Kind.RUNTIME, Kind.SHARE, Kind.BESIDE)) {
            pids.put(kind, Long.parseLong(lab.inspect(kind.toString(), "{{.State.Pid}}")));
        }
        String pid =
                podman.command("inspect", "--format={{.State.Pid}}", "podman").run().ok().out();
        pids.put(Kind.PODMAN, Long.parseLong(pid.strip()));
        startPod();
        awaitLeases(all());
    }

    /** It gets the GPU that no other holder has. */
    private void startPod() {
        pod = TestPod.named("pod", 1);
        kubelet.awaitHealthy(TestKubelet.GPU, Set.of(uuids.get(Kind.POD.gpu())));
        assertInstanceOf(TestKubelet.Admitted.class, kubelet.admit(pod));
        processes.start(pod, "sleep", "1000");
        assertInstanceOf(TestKubelet.Running.class, kubelet.start(pod, "main"));
    }

    private static String device(Kind kind) {
        return "device=" + kind.gpu();
    }

    private String node(Kind kind) {
        String node = "/dev/nvidia" + kind.gpu();
        return "--device=" + host.directory().resolve(node.substring(1)) + ":" + node;
    }

    /** Kills the processes of all holders; nothing of ours or of theirs takes part. */
    public void killAll() {
        pids.values().forEach(pid -> Command.of("kill", "-KILL", pid).run());
        pids.clear();
        processes.end(pod);
        kubelet.delete(pod);
    }

    /** Kills the engine, the agent and the kubelet; their containers live. */
    public void killProviders() {
        try {
            lab.engine().kill();
            agent.kill();
            kubelet.stop();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Starts them again. */
    public void startProviders() {
        try {
            lab.engine().start();
            agent.recover();
            kubelet.restart();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The holders of every kind, as {@link #leases} shows them. */
    public static Map<String, Set<Integer>> all() {
        Map<String, Set<Integer>> all = new TreeMap<>();
        Arrays.stream(Kind.values()).forEach(kind -> all.put(kind.shown(), Set.of(kind.gpu())));
        return all;
    }

    /** The GPUs' indices of each holder with a lease, as {@code gpu leases --json} shows it. */
    public Map<String, Set<Integer>> leases() {
        Map<String, Set<Integer>> leases = new TreeMap<>();
        for (JsonNode lease : lab.jnvdocker("gpu", "leases", "--json").json()) {
            Set<Integer> gpus = new TreeSet<>();
            lease.path("gpus").forEach(gpu -> gpus.add(gpu.path("index").asInt()));
            leases.put(name(lease), gpus);
        }
        return leases;
    }

    /** The name of a Mesos task is only in the registry, which may have been lost. */
    private static String name(JsonNode lease) {
        if (lease.path("engine").asText().equals("mesos")) {
            return Kind.MESOS.shown();
        }
        return List.of("pod", "container_name", "command").stream()
                .map(lease::path)
                .filter(JsonNode::isTextual)
                .findFirst()
                .map(JsonNode::asText)
                .orElse("?");
    }

    /** Waits until the holders are these, and none has another GPU meanwhile. */
    public void awaitLeases(Map<String, Set<Integer>> wanted) {
        Lab.await(() -> {
            Map<String, Set<Integer>> now = leases();
            return now.equals(wanted) ? List.of() : List.of(now + " instead of " + wanted);
        });
    }

    /** Requests of the kinds that do not wait, for that GPU. */
    public List<Command> requests(int gpu) {
        List<Object> runtimes =
                List.of(
                        "run",
                        "--rm",
                        "--runtime=nvidia",
                        "--label=jnvdocker.gpus=device=" + gpu,
                        "plain",
                        "true");
        return List.of(
                lab.daemon().jnvdocker("run", "--rm", "--gpus=device=" + gpu, "plain", "true"),
                lab.engine().docker(runtimes.toArray()),
                podman.command(
                        "run",
                        "--rm",
                        "--network=none",
                        "--ulimit=nofile=1024:1024",
                        "--ulimit=nproc=1000:1000",
                        "--runtime=nvidia",
                        "--env=NVIDIA_VISIBLE_DEVICES=" + gpu,
                        "plain",
                        "true"),
                program(gpu));
    }

    /** A program of the host that requests these GPUs and ends. */
    public Command program(int... gpus) {
        String devices = String.join(",", IntStream.of(gpus).mapToObj(String::valueOf).toList());
        return lab.daemon().jnvdocker("gpu", "run", "--gpus", "device=" + devices, "true");
    }

    /** Ends what is left, and returns when no GPU is held. */
    public void clear() {
        lab.startDaemon();
        killAll();
        podman.remove("podman");
        agent.clear();
        lab.clear();
        awaitLeases(Map.of());
    }

    @Override
    public void close() {
        agent.close();
        lab.jnvdocker("runtime", "uninstall", "--engine=podman").ok();
        lab.close();
        runtime.close();
        processes.close();
        try {
            kubelet.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Directories.remove(directory);
    }
}
