package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;

import jnvdocker.decision.DecisionLog;
import jnvdocker.holder.Pace;
import jnvdocker.host.Gpu;
import jnvdocker.host.GpuTroubles;
import jnvdocker.kubernetes.PodKind;
import jnvdocker.kubernetes.PodLeases;
import jnvdocker.kubernetes.PodReport;
import jnvdocker.kubernetes.PodStart;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.GpuTraits;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.TestingLeases;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.Changes;
import jnvdocker.supply.AllowanceReader;
import jnvdocker.use.MemoryUsers;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;

/**
 * What a real kubelet requested of a device plugin, what it listed and what ran meanwhile, played
 * to ours. The recorded plugin waited for nothing; ours does, in the time of the recording.
 */
class RecordedPodsTest {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final Duration QUERY_PERIOD = Duration.ofSeconds(2);
    private static final Duration PATIENCE = Duration.ofSeconds(25);
    private static final List<Gpu> GPUS =
            IntStream.range(0, 4)
                    .mapToObj(i -> TestingLeases.gpu(i, "GPU-" + ("" + i).repeat(8), i))
                    .toList();

    @TempDir Path state;

    /** A scenario, which goes on during each sleep. */
    private final class Playback implements Pace, AutoCloseable {
        private final SimulatedMachine machine = new SimulatedMachine(state, () -> {});
        private final ProcessId kubelet = machine.spawn();
        private final Deque<JsonNode> events = new ArrayDeque<>();
        private final Map<String, List<ProcessId>> groups = new HashMap<>();
        private final Map<String, String> uids = new HashMap<>();
        private final Map<Integer, String> granted = new HashMap<>();
        private final LeaseParts parts;
        private final PodLeases leases;
        private final long begun;
        private Map<String, JsonNode> listed = Map.of();
        private boolean silent;
        private long requested;
        private int starts;
        private int refusedStarts;
        private int refusedAllocations;
        private long longest;

        Playback(String scenario) throws IOException {
            String file = "pods/" + scenario + ".jsonl";
            try (InputStream in = RecordedPodsTest.class.getResourceAsStream(file)) {
                for (String line :
                        new String(in.readAllBytes(), StandardCharsets.UTF_8).lines().toList()) {
                    events.add(JSON.readTree(line));
                }
            }
            PodKind kind = new PodKind(machine);
            LeaseParts.World world =
                    new LeaseParts.World(
                            state,
                            machine.bootId(),
                            "nvidia-docker",
                            machine,
                            new NoEngine(),
                            () -> GPUS,
                            TestingLeases.NO_USES,
                            GpuTroubles.NONE,
                            MemoryUsers.UNKNOWN,
                            () -> TestingLeases.POLICY,
                            Set::of,
                            () -> GpuTraits.UNKNOWN,
                            machine,
                            TestingLeases.RANDOM,
                            this,
                            AllowanceReader.Groups.OF_THIS_HOST,
                            new DecisionLog(Optional.empty()));
            parts = LeaseParts.open(world, kind);
            leases = new PodLeases(parts, this, kind);
            begun = machine.nanos();
            requested = begun;
        }

        /** All that is due by then. The kubelet is queried every two seconds, and at each start. */
        private void play(long until) {
            while (true) {
                long next = events.isEmpty() ? Long.MAX_VALUE : time(events.getFirst());
                long due = Math.min(next, requested + QUERY_PERIOD.toNanos());
                if (due > until) {
                    break;
                }
                passUntil(due);
                try {
                    if (due == next) {
                        happen(events.removeFirst());
                    } else {
                        requested = due;
                        query();
                    }
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
            passUntil(until);
        }

        private long time(JsonNode event) {
            return begun + Duration.ofMillis(event.path("ms").asLong()).toNanos();
        }

        private void passUntil(long nanos) {
            machine.pass(Duration.ofNanos(Math.max(0, nanos - machine.nanos())));
        }

        private void happen(JsonNode event) throws IOException {
            if (event.has("pod")) {
                uids.put(event.path("pod").asText(), event.path("uid").asText());
            } else if (event.has("silent")) {
                silent = true;
            } else if (event.has("list")) {
                silent = false;
                listed = new HashMap<>();
                event.path("list").forEachEntry(listed::put);
            } else if (event.has("cgroup")) {
                run(event.path("cgroup").asText(), event.path("processes").asInt());
            } else if (event.has("allocate")) {
                allocate(gpus(event.path("allocate")));
            } else {
                start(gpus(event.path("start")));
            }
        }

        private List<Gpu> gpus(JsonNode indexes) {
            List<Gpu> gpus = new ArrayList<>();
            indexes.forEach(index -> gpus.add(GPUS.get(index.asInt())));
            gpus.sort(Gpu.ORDER);
            return gpus;
        }

        private void run(String cgroup, int processes) {
            List<ProcessId> running = groups.computeIfAbsent(cgroup, _ -> new ArrayList<>());
            while (running.size() > processes) {
                machine.end(running.removeLast());
            }
            while (running.size() < processes) {
                running.add(
                        machine.spawn(
                                Optional.empty(), Optional.of("/sys/fs/cgroup/devices" + cgroup)));
            }
        }

        private void query() throws IOException {
            PodReport.Sight sight = leases.report().observe();
            if (!silent) {
                Map<String, Set<Origin.Pod>> pods = new HashMap<>();
                listed.forEach((name, containers) ->
                        containers.forEach(its ->
                                gpus(its)
                                        .forEach(gpu ->
                                                pods.computeIfAbsent(
                                                                gpu.uuid(), _ -> new HashSet<>())
                                                        .add(pod(name)))));
                leases.report().update(sight, pods, Map.of());
            }
        }

        private Origin.Pod pod(String name) {
            String[] words = name.split("/", 2);
            return new Origin.Pod(uids.getOrDefault(name, ""), words[0], words[1]);
        }

        private void allocate(List<Gpu> gpus) throws IOException {
            try {
                leases.reserve(gpus, kubelet);
            } catch (RefusedException e) {
                refusedAllocations++;
            }
        }

        private void start(List<Gpu> gpus) throws IOException {
            query();
            long before = machine.nanos();
            Origin.Pod pod =
                    listed.keySet().stream()
                            .filter(name -> has(listed.get(name), gpus))
                            .map(this::pod)
                            .findFirst()
                            .orElseThrow();
            try {
                List<Lease> taken =
                        leases.take(
                                new PodStart(gpus, pod, Optional.of("main"), kubelet), PATIENCE);
                assertEquals(gpus.size(), taken.size());
                starts++;
                for (Gpu gpu : gpus) {
                    String last = granted.put(gpu.index(), pod.uid());
                    assertTrue(
                            last == null || last.equals(pod.uid()) || !runs(last),
                            () -> gpu + " is given to " + pod + " while " + last + " runs");
                }
            } catch (RefusedException e) {
                refusedStarts++;
            }
            longest = Math.max(longest, Duration.ofNanos(machine.nanos() - before).toSeconds());
        }

        private boolean has(JsonNode containers, List<Gpu> gpus) {
            for (JsonNode its : containers) {
                if (gpus(its).equals(gpus)) {
                    return true;
                }
            }
            return false;
        }

        private boolean runs(String uid) {
            return groups.entrySet().stream()
                    .anyMatch(it -> it.getKey().contains(uid) && !it.getValue().isEmpty());
        }

        /** The GPUs of pods that run or are listed, by the recording. */
        private Set<Integer> used() {
            Set<Integer> used = new TreeSet<>();
            granted.forEach((gpu, uid) -> {
                if (runs(uid)) {
                    used.add(gpu);
                }
            });
            listed.values()
                    .forEach(containers ->
                            containers.forEach(
                                    its -> gpus(its).forEach(gpu -> used.add(gpu.index()))));
            return used;
        }

        private Set<Integer> held() throws IOException {
            Set<Integer> held = new TreeSet<>();
            for (Lease lease : parts.registry().live()) {
                lease.claim().gpus().stream().map(ClaimedGpu::index).forEach(held::add);
            }
            return held;
        }

        private int leases() throws IOException {
            return parts.registry().live().size()
                    + parts.registry().history().past(Long.MAX_VALUE, 100).size();
        }

        @Override
        public void close() throws IOException {
            parts.close();
        }

        @Override
        public long nanos() {
            return machine.nanos();
        }

        @Override
        public void sleep(Duration duration) {
            play(machine.nanos() + duration.toNanos());
        }

        @Override
        public void sleep(Duration longest, Changes changes, long seen) {
            sleep(longest);
        }

        @Override
        public void later(Duration delay, Runnable task) {
            throw new AssertionError("pods need nothing later");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "allocate-slow, 1, 0, 0, 2, 0",
        "api-force-delete-dangerous-window, 2, 0, 0, 8, 1",
        "api-force-delete-while-terminating, 2, 0, 0, 8, 17",
        "api-graceful-delete-and-next, 2, 0, 0, 8, 0",
        "api-job-and-next, 2, 0, 0, 8, 0",
        "api-unhealthy-and-scheduler, 2, 0, 0, 2, 0",
        "bad-node, 3, 0, 0, 1, 0",
        "cdi-devices-containerd-1.7, 1, 0, 0, 1, 0",
        "cdi-devices-containerd-2.1, 4, 0, 0, 3, 0",
        "crash-loop, 3, 0, 0, 2, 0",
        "dangerous-window-removed-static-pod, 2, 0, 0, 8, 11",
        "device-vanishes-during-allocate, 0, 0, 0, 1, 0",
        "guard-in-prestart-closes-the-window, 2, 0, 0, 8, 15",
        "guard-in-prestart-refuses-and-is-retried, 4, 0, 0, 8, 23",
        "leftover-processes, 4, 0, 0, 2, 0",
        "oci-wrapper-refuses-at-create, 4, 0, 0, 1, 0",
        "plugin-dies-and-comes-back, 2, 0, 0, 3, 0",
        "prestart-error-retried, 5, 0, 0, 1, 0",
        "prestart-slow, 2, 0, 0, 2, 0",
        "reboot-like-plugin-alive-first, 5, 0, 0, 2, 0",
        "restart-never-prestart-error-and-create-error, 6, 0, 0, 2, 0",
        "two-containers-and-init, 4, 0, 0, 4, 0",
        "unhealthy-under-a-running-pod, 2, 0, 0, 3, 0"
    })
    void podsGetTheirGpusOneAfterTheOther(
            String scenario,
            int starts,
            int refusedStarts,
            int refusedAllocations,
            int leases,
            int wait)
            throws IOException {
        try (Playback playback = new Playback(scenario)) {
            while (!playback.events.isEmpty()) {
                playback.play(playback.time(playback.events.getFirst()));
            }
            playback.sleep(Duration.ofSeconds(12));
            if (playback.silent) {
                assertTrue(playback.held().containsAll(playback.used()), scenario);
            } else {
                assertEquals(playback.used(), playback.held());
            }
            assertEquals(
                    List.of(starts, refusedStarts, refusedAllocations, leases, wait),
                    List.of(
                            playback.starts,
                            playback.refusedStarts,
                            playback.refusedAllocations,
                            playback.leases(),
                            (int) playback.longest));
        }
    }
}
