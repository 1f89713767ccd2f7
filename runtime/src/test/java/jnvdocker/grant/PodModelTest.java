package jnvdocker.grant;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.kubernetes.PodKind;
import jnvdocker.kubernetes.PodLeases;
import jnvdocker.kubernetes.PodReport;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.RefusedException;

import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;
import net.jqwik.api.lifecycle.PerProperty;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Whatever a kubelet asks, lists and forgets, and whatever becomes of its pods, of containers
 * beside them and of the daemon, in any order: what runs with a GPU has it alone, and has its
 * lease.
 */
class PodModelTest {
    private static final Duration LONG = Duration.ofSeconds(6);
    private static final Duration PATIENCE = Duration.ofMillis(300);
    private static final int PODS = 4;

    /** The events that may happen next. */
    enum Event {
        ADMIT,
        START,
        MAIN_ENDS,
        DELETE,
        DELETE_BY_FORCE,
        LEFTOVER_ENDS,
        KUBELET_IS_ASKED,
        KUBELET_ANSWERS,
        CONTAINER_STARTS,
        CONTAINER_ENDS,
        SOMEBODY_LOOKS,
        TIME_PASSES,
        DAEMON_IS_KILLED,
        REGISTRY_IS_LOST
    }

    /**
     * @param which pod, or container
     * @param gpus how many are requested
     */
    record Step(Event event, int which, int gpus) {}

    @Provide
    Arbitrary<List<Step>> sequences() {
        Arbitrary<Event> event =
                Arbitraries.frequency(
                        Tuple.of(8, Event.ADMIT),
                        Tuple.of(10, Event.START),
                        Tuple.of(4, Event.MAIN_ENDS),
                        Tuple.of(3, Event.DELETE),
                        Tuple.of(4, Event.DELETE_BY_FORCE),
                        Tuple.of(4, Event.LEFTOVER_ENDS),
                        Tuple.of(5, Event.KUBELET_IS_ASKED),
                        Tuple.of(5, Event.KUBELET_ANSWERS),
                        Tuple.of(5, Event.CONTAINER_STARTS),
                        Tuple.of(5, Event.CONTAINER_ENDS),
                        Tuple.of(4, Event.SOMEBODY_LOOKS),
                        Tuple.of(4, Event.TIME_PASSES),
                        Tuple.of(2, Event.DAEMON_IS_KILLED),
                        Tuple.of(1, Event.REGISTRY_IS_LOST));
        return Combinators.combine(
                        event,
                        Arbitraries.integers().between(0, PODS - 1),
                        Arbitraries.integers().between(1, 2))
                .as(Step::new)
                .list()
                .ofMinSize(20)
                .ofMaxSize(80);
    }

    @Property(tries = 60, seed = "20261124")
    @PerProperty(KeptFailure.class)
    void everyGpuHasOneHolder(@ForAll("sequences") List<Step> sequence) throws Exception {
        ModelRun.of(PodModelTest.class, sequence, Model::new);
    }

    /** A pod by the model's account. */
    private static final class Pod {
        final Origin.Pod name;
        final List<Gpu> gpus;
        Optional<ProcessId> pause = Optional.empty();
        Optional<ProcessId> main = Optional.empty();

        Pod(int number, List<Gpu> gpus) {
            name = new Origin.Pod("928cd30c-%04d".formatted(number), "team-a", "p" + number);
            this.gpus = gpus;
        }

        Stream<ProcessId> processes() {
            return Stream.concat(pause.stream(), main.stream());
        }

        String cgroup() {
            return "/sys/fs/cgroup/devices/kubepods/pod" + name.uid();
        }

        @Override
        public String toString() {
            return name.name() + " of " + gpus.stream().map(Gpu::number).toList();
        }
    }

    /** A container beside the pods. */
    private record Container(Lease lease, ProcessId process) {}

    private record Question(PodReport.Sight sight, Map<String, Set<Origin.Pod>> listed) {}

    private static final class Model implements ModelRun.Model<Step> {
        final SimulatedWorld world;
        final ProcessId kubelet;
        final Map<Integer, Pod> pods = new HashMap<>();
        final List<Pod> leftovers = new ArrayList<>();
        final Map<Integer, Container> containers = new HashMap<>();
        Optional<Question> question = Optional.empty();
        int admitted;

        Model(SimulatedWorld world) {
            this.world = world;
            kubelet = world.machine.spawn();
        }

        private LeaseParts parts() {
            return world.daemon.parts();
        }

        private PodLeases leases() {
            return world.daemon.pods();
        }

        @Override
        public void make(Step step) throws Exception {
            Optional<Pod> pod = Optional.ofNullable(pods.get(step.which()));
            switch (step.event()) {
                case ADMIT -> {
                    if (pod.isEmpty()) {
                        admit(step.which(), step.gpus());
                    }
                }
                case START -> {
                    if (pod.isPresent() && pod.get().main.isEmpty()) {
                        start(pod.get(), step.gpus() == 1);
                    }
                }
                case MAIN_ENDS ->
                        pod.ifPresent(it -> {
                            it.main.ifPresent(world.machine::end);
                            it.main = Optional.empty();
                        });
                case DELETE -> {
                    pod.ifPresent(it -> it.processes().forEach(world.machine::end));
                    pods.remove(step.which());
                }
                case DELETE_BY_FORCE -> {
                    pod.ifPresent(leftovers::add);
                    pods.remove(step.which());
                }
                case LEFTOVER_ENDS -> {
                    if (!leftovers.isEmpty()) {
                        leftovers.removeFirst().processes().forEach(world.machine::end);
                    }
                }
                case KUBELET_IS_ASKED ->
                        question = Optional.of(new Question(leases().report().observe(), listed()));
                case KUBELET_ANSWERS -> {
                    if (question.isPresent()) {
                        answer(question.get());
                    }
                    question = Optional.empty();
                }
                case CONTAINER_STARTS -> run(step.which(), step.gpus());
                case CONTAINER_ENDS -> {
                    Container container = containers.remove(step.which());
                    if (container != null) {
                        world.machine.end(container.process());
                    }
                }
                case SOMEBODY_LOOKS -> parts().leases().live();
                case TIME_PASSES -> world.machine.pass(step.gpus() == 1 ? PATIENCE : LONG);
                case DAEMON_IS_KILLED -> restart(false);
                case REGISTRY_IS_LOST -> restart(leftovers.isEmpty() && containers.isEmpty());
            }
        }

        /** As a kubelet chooses: among those that it has not given away, and that are healthy. */
        private void admit(int which, int count) throws IOException {
            Holdings holdings = parts().registry().holdings();
            List<Gpu> left =
                    world.gpus().stream()
                            .filter(gpu -> pods.values().stream().noneMatch(has(gpu)))
                            .filter(gpu ->
                                    holdings.of(gpu).filter(lease -> !isOfPod(lease)).isEmpty())
                            .limit(count)
                            .toList();
            if (left.size() < count) {
                return;
            }
            try {
                leases().reserve(left, kubelet);
                pods.put(which, new Pod(++admitted, left));
            } catch (RefusedException e) {
                throw new AssertionError("a healthy GPU is refused: " + e.getMessage(), e);
            }
        }

        private static Predicate<Pod> has(Gpu gpu) {
            return pod -> pod.gpus.stream().anyMatch(its -> its.uuid().equals(gpu.uuid()));
        }

        private static boolean isOfPod(Lease lease) {
            return PodKind.pod(lease).isPresent();
        }

        /**
         * @param answers whether the kubelet tells which pod that is
         */
        private void start(Pod pod, boolean answers) throws IOException {
            if (pod.pause.isEmpty()) {
                pod.pause = Optional.of(spawn(pod, "pause"));
            }
            if (answers) {
                answer(new Question(leases().report().observe(), listed()));
            }
            try {
                leases().take(
                                new PodLeases.Start(
                                        pod.gpus, pod.name, Optional.of("main"), kubelet),
                                PATIENCE);
                pod.main = Optional.of(spawn(pod, "main"));
            } catch (RefusedException e) {
                boolean justified =
                        pod.gpus.stream()
                                .anyMatch(gpu ->
                                        leftovers.stream().anyMatch(has(gpu)) || isHeldBeside(gpu));
                assertTrue(justified || !answers, () -> pod + " is refused: " + e.getMessage());
            }
        }

        private boolean isHeldBeside(Gpu gpu) {
            return containers.values().stream()
                    .anyMatch(it -> it.lease().excludes(ClaimedGpu.of(gpu)));
        }

        private ProcessId spawn(Pod pod, String container) {
            return world.machine.spawn(
                    Optional.empty(), Optional.of(pod.cgroup() + "/" + container));
        }

        private Map<String, Set<Origin.Pod>> listed() {
            Map<String, Set<Origin.Pod>> listed = new HashMap<>();
            for (Pod pod : pods.values()) {
                pod.gpus.forEach(gpu -> listed.put(gpu.uuid(), Set.of(pod.name)));
            }
            return listed;
        }

        private void answer(Question requested) throws IOException {
            leases().report().update(requested.sight(), requested.listed(), listed());
        }

        private void run(int which, int gpus) throws IOException {
            if (containers.containsKey(which)) {
                return;
            }
            ProcessId process = world.machine.spawn();
            try {
                Lease lease =
                        parts().oci().claim(creation("c" + which, gpus, process)).orElseThrow();
                containers.put(which, new Container(lease, process));
            } catch (RefusedException e) {
                world.machine.end(process);
            }
        }

        private static OciCreation creation(String id, int gpus, ProcessId process) {
            return new OciCreation(
                    new OciContainers.Container("/run/runc", id),
                    id,
                    Optional.empty(),
                    process,
                    Optional.empty(),
                    Owner.UNKNOWN,
                    new GpuRequest.Count(gpus),
                    Optional.empty());
        }

        private void restart(boolean lost) throws IOException {
            world.daemon.kill();
            if (lost) {
                world.disk.loseRegistry(false);
                question = Optional.empty();
            }
            world.daemon.start();
            leases().report().restore(listed());
        }

        @Override
        public void check() throws IOException {
            List<Lease> live = parts().registry().live();
            Set<String> used = new HashSet<>();
            for (Pod pod : Stream.concat(pods.values().stream(), leftovers.stream()).toList()) {
                if (pod.main.isPresent()) {
                    for (Gpu gpu : pod.gpus) {
                        assertTrue(used.add(gpu.uuid()), () -> gpu + " has two, one is " + pod);
                        assertTrue(
                                leases().of(pod.name.uid()).stream()
                                        .anyMatch(lease -> lease.isOf(gpu.uuid())),
                                () -> pod + " runs without its lease: " + live);
                    }
                }
            }
            for (Container container : containers.values()) {
                for (ClaimedGpu gpu : container.lease().claim().gpus()) {
                    assertTrue(used.add(gpu.uuid()), () -> gpu + " has two, one is a container");
                }
            }
        }

        /** When all have ended, all GPUs are available. */
        @Override
        public void settle() throws Exception {
            pods.values().forEach(pod -> pod.processes().forEach(world.machine::end));
            leftovers.forEach(pod -> pod.processes().forEach(world.machine::end));
            containers.values().forEach(it -> world.machine.end(it.process()));
            pods.clear();
            world.machine.pass(LONG);
            answer(new Question(leases().report().observe(), Map.of()));
            assertEquals(List.of(), parts().leases().live());
            int all = world.gpus().size();
            assertTrue(
                    parts().oci().claim(creation("all", all, world.machine.spawn())).isPresent());
        }
    }
}
