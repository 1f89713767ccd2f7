package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.holder.HolderKind;
import jnvdocker.holder.Pace;
import jnvdocker.host.Gpu;
import jnvdocker.kubernetes.PodKind;
import jnvdocker.kubernetes.PodLeases;
import jnvdocker.kubernetes.PodReport;
import jnvdocker.kubernetes.PodStart;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.posix.ProcessId;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The pods of a simulated world, and the kubelet that runs them: it chooses GPUs by itself,
 * reserves them when it admits a pod, and requests them when the pod's container starts.
 */
final class SimulatedPods implements SimulatedFeature {
    private static final Duration PATIENCE = Duration.ofMillis(300);
    private static final int PODS = 3;

    /** A pod by the model's account. */
    private static final class Pod {
        final Origin.Pod name;
        final List<Gpu> gpus;
        Optional<ProcessId> pause = Optional.empty();
        Optional<ProcessId> main = Optional.empty();

        /** Whether the kubelet waits for the answer about its container. */
        boolean isStarting;

        Pod(int number, List<Gpu> gpus) {
            name = new Origin.Pod("928cd30c-%04d".formatted(number), "team-a", "p" + number);
            this.gpus = gpus;
        }

        Stream<ProcessId> processes() {
            return Stream.concat(pause.stream(), main.stream());
        }

        boolean has(String gpu) {
            return gpus.stream().anyMatch(its -> its.uuid().equals(gpu));
        }

        @Override
        public String toString() {
            return "pod " + name.name() + " of " + gpus.stream().map(Gpu::number).toList();
        }
    }

    /** A query of the kubelet that is under way. */
    private record Query(PodReport.Sight sight, Map<String, Set<Origin.Pod>> listed) {}

    private final SimulatedWorld world;
    private final Map<Integer, Pod> pods = new HashMap<>();

    /** Pods that were deleted by force: the kubelet no longer lists them, and they run. */
    private final List<Pod> leftovers = new ArrayList<>();

    private Optional<ProcessId> kubelet = Optional.empty();
    private Optional<Query> query = Optional.empty();
    private int admitted;
    private PodKind kind;
    private Optional<PodLeases> leases = Optional.empty();

    SimulatedPods(SimulatedWorld world) {
        this.world = world;
    }

    private LeaseParts parts() {
        return world.daemon.parts();
    }

    PodLeases leases() {
        return leases.orElseThrow();
    }

    @Override
    public List<HolderKind> kinds() {
        return List.of(new PodKind(world.machine));
    }

    @Override
    public LeaseParts open(LeaseParts.World its) throws IOException {
        kind = new PodKind(world.machine);
        return LeaseParts.open(its, kind);
    }

    /** The answer that an earlier daemon waited for never arrives. */
    @Override
    public void started(LeaseParts parts, Pace pace) throws IOException {
        leases = Optional.of(new PodLeases(parts, pace, kind));
        query = Optional.empty();
        leases().report().restore(listed());
    }

    @Override
    public boolean owns(Lease lease) {
        return PodKind.pod(lease).isPresent();
    }

    private ProcessId kubelet() {
        if (kubelet.filter(world.machine::lives).isEmpty()) {
            kubelet = Optional.of(world.machine.spawn());
        }
        return kubelet.get();
    }

    private Optional<Pod> pod(int index) {
        return Optional.ofNullable(pods.get(index % PODS)).filter(it -> !it.isStarting);
    }

    /** The kubelet admits a pod to GPUs that it has not given away and that are healthy. */
    boolean admit(int index, int count) throws IOException {
        if (!world.daemon.isUp() || pods.containsKey(index % PODS)) {
            return false;
        }
        Holdings holdings = parts().registry().holdings();
        Set<String> used = world.uses.used();
        List<Gpu> left =
                world.gpus().stream()
                        .filter(gpu -> pods.values().stream().noneMatch(it -> it.has(gpu.uuid())))
                        .filter(gpu ->
                                holdings.of(gpu)
                                        .filter(lease -> PodKind.pod(lease).isEmpty())
                                        .isEmpty())
                        .filter(gpu -> !used.contains(gpu.uuid()))
                        .filter(gpu -> !world.lab.isCordoned(gpu.uuid()))
                        .filter(gpu -> world.lab.setAside(gpu.uuid()).isEmpty())
                        .filter(gpu -> world.lab.barredLater(gpu.uuid()).findAny().isEmpty())
                        .limit(count)
                        .toList();
        if (left.size() < count) {
            return false;
        }
        boolean alone = world.course.isUndisturbed() && parts().registry().tickets().isEmpty();
        return world.daemon.perform(
                "admit",
                () -> {
                    try {
                        leases().reserve(left, kubelet());
                        Pod pod = new Pod(++admitted, left);
                        world.say(pod + " is admitted");
                        pods.put(index % PODS, pod);
                    } catch (RefusedException e) {
                        world.say("refused: " + e.getMessage());
                        assertTrue(!alone, () -> "a healthy GPU is refused: " + e.getMessage());
                    }
                });
    }

    /**
     * A pod's container starts.
     *
     * @param answers whether the kubelet says before which pod that is
     */
    boolean start(int index, boolean answers) throws IOException {
        Optional<Pod> found = pod(index);
        if (!world.daemon.isUp() || found.isEmpty() || found.get().main.isPresent()) {
            return false;
        }
        Pod pod = found.get();
        if (pod.pause.isEmpty()) {
            pod.pause = Optional.of(spawn(pod, "pause"));
        }
        if (answers && !answer(observe())) {
            return true;
        }
        boolean alone = world.course.isUndisturbed();
        pod.isStarting = true;
        world.daemon.perform(
                "start of a pod",
                () -> {
                    try {
                        leases().take(
                                        new PodStart(
                                                pod.gpus, pod.name, Optional.of("main"), kubelet()),
                                        PATIENCE);
                        pod.main = Optional.of(spawn(pod, "main"));
                        world.say(pod + " starts");
                    } catch (RefusedException e) {
                        world.say("refused: " + e.getMessage());
                        assertTrue(
                                !alone || !answers || isBlocked(pod),
                                () -> pod + " is refused: " + e.getMessage());
                    }
                });
        pod.isStarting = false;
        return true;
    }

    /** Whether anything else has a GPU of a pod, or the administrator has withdrawn it. */
    private boolean isBlocked(Pod pod) throws IOException {
        Holdings holdings = parts().registry().holdings();
        Set<String> used = world.uses.used();
        return !world.gpus().containsAll(pod.gpus)
                || !parts().registry().tickets().isEmpty()
                || pod.gpus.stream()
                        .anyMatch(gpu ->
                                leftovers.stream().anyMatch(it -> it.has(gpu.uuid()))
                                        || used.contains(gpu.uuid())
                                        || world.lab.isCordoned(gpu.uuid())
                                        || holdings.of(gpu)
                                                .filter(lease -> PodKind.pod(lease).isEmpty())
                                                .isPresent());
    }

    /** The oldest process of a pod, by which that has its place in the queue. */
    @Override
    public boolean isClient(ProcessId process) {
        return all().flatMap(Pod::processes).anyMatch(process::equals);
    }

    private ProcessId spawn(Pod pod, String container) {
        return world.machine.spawn(
                Optional.empty(),
                Optional.of(
                        "/sys/fs/cgroup/devices/kubepods/pod" + pod.name.uid() + "/" + container));
    }

    boolean mainEnds(int index) {
        Optional<Pod> pod = pod(index).filter(it -> it.main.isPresent());
        pod.ifPresent(it -> {
            world.machine.end(it.main.get());
            it.main = Optional.empty();
        });
        return pod.isPresent();
    }

    /**
     * A pod is deleted.
     *
     * @param byForce whether its processes stay
     */
    boolean delete(int index, boolean byForce) {
        Optional<Pod> pod = pod(index);
        pod.ifPresent(it -> {
            world.say(it + " is deleted");
            pods.remove(index % PODS);
            if (byForce) {
                leftovers.add(it);
            } else {
                it.processes().forEach(world.machine::end);
            }
        });
        return pod.isPresent();
    }

    boolean leftoverEnds() {
        if (leftovers.isEmpty()) {
            return false;
        }
        leftovers.removeFirst().processes().forEach(world.machine::end);
        return true;
    }

    /** The daemon queries the kubelet, which collects its answer now. */
    boolean query() throws IOException {
        if (!world.daemon.isUp()) {
            return false;
        }
        query = Optional.of(observe());
        return true;
    }

    /** The answer of the kubelet arrives. */
    boolean answer() throws IOException {
        if (!world.daemon.isUp() || query.isEmpty()) {
            return false;
        }
        Query now = query.get();
        query = Optional.empty();
        answer(now);
        return true;
    }

    private Query observe() throws IOException {
        return new Query(leases().report().observe(), listed());
    }

    private boolean answer(Query now) throws IOException {
        return world.daemon.perform(
                "answer of the kubelet",
                () -> leases().report().update(now.sight(), now.listed(), listed()));
    }

    /** The pods that the kubelet lists, by the UUIDs of their GPUs. */
    private Map<String, Set<Origin.Pod>> listed() {
        Map<String, Set<Origin.Pod>> listed = new HashMap<>();
        for (Pod pod : pods.values()) {
            pod.gpus.forEach(gpu -> listed.put(gpu.uuid(), Set.of(pod.name)));
        }
        return listed;
    }

    @Override
    public boolean isAnyUntold() {
        return !pods.isEmpty() || leftovers.stream().anyMatch(this::lives);
    }

    private boolean lives(Pod pod) {
        return pod.processes().anyMatch(world.machine::lives);
    }

    private Stream<Pod> all() {
        return Stream.concat(pods.values().stream(), leftovers.stream());
    }

    @Override
    public void addUsers(Map<String, SimulatedWorld.User> users) {
        all().filter(pod -> pod.main.filter(world.machine::lives).isPresent())
                .forEach(pod ->
                        pod.gpus.forEach(gpu -> {
                            var other =
                                    users.put(gpu.uuid(), new SimulatedWorld.User(pod, "a pod"));
                            assertTrue(
                                    other == null,
                                    () -> gpu.uuid() + " has " + other + " and " + pod);
                        }));
    }

    @Override
    public void check(List<Lease> live) {
        all().filter(pod -> pod.main.filter(world.machine::lives).isPresent())
                .forEach(pod -> {
                    for (Gpu gpu : pod.gpus) {
                        assertTrue(
                                live.stream()
                                        .filter(lease -> lease.isOf(gpu.uuid()))
                                        .flatMap(lease -> PodKind.pod(lease).stream())
                                        .anyMatch(its -> its.uid().equals(pod.name.uid())),
                                () -> pod + " runs without its lease: " + live);
                    }
                });
    }

    /** Whether there is a pod for a lease. */
    @Override
    public boolean has(Lease lease) {
        return all().anyMatch(pod ->
                (pods.containsValue(pod) || lives(pod))
                        && lease.claim().gpus().stream().map(ClaimedGpu::uuid).anyMatch(pod::has));
    }

    /** The kubelet answers once more, and pods that have ended lose their places in the queue. */
    @Override
    public void settle() throws IOException {
        if (!world.daemon.isUp()) {
            return;
        }
        answer(observe());
        world.daemon.perform("queue", parts().queue()::checkClients);
    }

    @Override
    public void end() {
        all().forEach(pod -> pod.processes().forEach(world.machine::end));
        forget();
    }

    @Override
    public void forget() {
        pods.clear();
        leftovers.clear();
        query = Optional.empty();
    }
}
