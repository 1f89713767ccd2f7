package jnvdocker.grant;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Lease;
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
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Whatever happens to containers that our OCI runtime is asked to create, to that runtime and to
 * the daemon, in any order: a GPU has one holder, a container that lives has a lease of its GPUs,
 * and one that has ended has none. The registry and everything that works with it are the real
 * ones.
 */
class OciModelTest {
    private static final Duration SETTLED = Duration.ofSeconds(1);
    private static final int CONTAINERS = 5;

    /** GPUs in a refusal, by their indices. */
    private static final Pattern NAMED =
            Pattern.compile("GPUs? ([0-9,-]+) (?:\\([^)]*\\) )?(?:is|are) (?:held|reserved) by ");

    /** The events that may happen next. */
    enum Event {
        CREATE,
        FIRST_PROCESS_COMES,
        RUNTIME_ENDS,
        DAEMON_LOOKS,
        PROCESS_FORKS,
        FIRST_PROCESS_ENDS,
        OTHERS_END,
        SOMEBODY_LOOKS,
        TIME_PASSES,
        DAEMON_IS_KILLED,
        REGISTRY_IS_LOST
    }

    /**
     * @param which container
     * @param gpus how many are requested
     */
    record Step(Event event, int which, int gpus) {}

    @Provide
    Arbitrary<List<Step>> sequences() {
        Arbitrary<Event> event =
                Arbitraries.frequency(
                        Tuple.of(8, Event.CREATE),
                        Tuple.of(8, Event.FIRST_PROCESS_COMES),
                        Tuple.of(8, Event.RUNTIME_ENDS),
                        Tuple.of(6, Event.DAEMON_LOOKS),
                        Tuple.of(2, Event.PROCESS_FORKS),
                        Tuple.of(5, Event.FIRST_PROCESS_ENDS),
                        Tuple.of(3, Event.OTHERS_END),
                        Tuple.of(5, Event.SOMEBODY_LOOKS),
                        Tuple.of(4, Event.TIME_PASSES),
                        Tuple.of(2, Event.DAEMON_IS_KILLED),
                        Tuple.of(1, Event.REGISTRY_IS_LOST));
        return Combinators.combine(
                        event,
                        Arbitraries.integers().between(0, CONTAINERS - 1),
                        Arbitraries.integers().between(1, 2))
                .as(Step::new)
                .list()
                .ofMinSize(20)
                .ofMaxSize(80);
    }

    @Property(tries = 60, seed = "20261123")
    @PerProperty(KeptFailure.class)
    void everyGpuHasOneHolder(@ForAll("sequences") List<Step> sequence) throws Exception {
        ModelRun.of(OciModelTest.class, sequence, Model::new);
    }

    /** A container by the model's account. */
    private static final class Container {
        final String id;
        Optional<Lease> lease = Optional.empty();
        Optional<ProcessId> runtime = Optional.empty();
        Optional<ProcessId> init = Optional.empty();
        final List<ProcessId> others = new ArrayList<>();

        Container(String id) {
            this.id = id;
        }

        @Override
        public String toString() {
            return id + " runtime " + runtime + " init " + init + " others " + others + " " + lease;
        }

        boolean lives() {
            return runtime.isPresent() || init.isPresent() || !others.isEmpty();
        }

        Set<String> gpus() {
            return lease.orElseThrow().claim().gpus().stream()
                    .map(ClaimedGpu::uuid)
                    .collect(Collectors.toSet());
        }
    }

    private static final class Model implements ModelRun.Model<Step> {
        final SimulatedWorld world;
        final List<Container> containers = new ArrayList<>();

        Model(SimulatedWorld world) {
            this.world = world;
            for (int i = 0; i < CONTAINERS; i++) {
                containers.add(new Container("c" + i));
            }
        }

        private LeaseParts parts() {
            return world.daemon.parts();
        }

        @Override
        public void make(Step step) throws Exception {
            Container it = containers.get(step.which());
            switch (step.event()) {
                case CREATE -> create(it, new GpuRequest.Count(step.gpus()));
                case FIRST_PROCESS_COMES -> {
                    if (it.runtime.isPresent() && it.init.isEmpty()) {
                        it.init = Optional.of(spawn(it, true));
                    }
                }
                case RUNTIME_ENDS -> {
                    it.runtime.ifPresent(world.machine::end);
                    it.runtime = Optional.empty();
                }
                case DAEMON_LOOKS -> {
                    if (it.lease.isPresent()) {
                        parts().ociKeeper().check(it.lease.get(), Optional.empty());
                    }
                }
                case PROCESS_FORKS -> {
                    if (it.init.isPresent() && it.others.size() < 2) {
                        it.others.add(spawn(it, step.gpus() == 1));
                    }
                }
                case FIRST_PROCESS_ENDS -> {
                    // A first process does not end before its runtime, which reports that it has
                    // begun.
                    if (it.runtime.isEmpty()) {
                        it.init.ifPresent(world.machine::end);
                        it.init = Optional.empty();
                    }
                }
                case OTHERS_END -> {
                    it.others.forEach(world.machine::end);
                    it.others.clear();
                }
                case SOMEBODY_LOOKS -> parts().leases().live();
                case TIME_PASSES -> world.machine.pass(Duration.ofMillis(150L * step.gpus()));
                case DAEMON_IS_KILLED -> restart(false);
                case REGISTRY_IS_LOST -> restart(true);
            }
        }

        private void create(Container it, GpuRequest.Count request) throws IOException {
            if (it.runtime.isPresent() || it.init.isPresent()) {
                // An engine does not create a container again that exists.
                return;
            }
            ProcessId process = world.machine.spawn();
            try {
                FirstScan scan = parts().oci().scan(world.gpus());
                Lease lease =
                        parts().oci().claim(creation(it.id, request, process), scan).orElseThrow();
                assertTrue(!it.lives(), () -> "is created beside itself: " + it.id);
                it.lease = Optional.of(lease);
                it.runtime = Optional.of(process);
            } catch (RefusedException e) {
                world.machine.end(process);
                assertTrue(isJustified(it, request, e.getMessage()), e::getMessage);
            }
        }

        /** An end that is seen soon is waited for. */
        private boolean isJustified(Container it, GpuRequest.Count request, String message) {
            if (message.contains("this very container")) {
                return it.lives();
            }
            Set<String> used =
                    containers.stream()
                            .filter(other -> other != it && other.lives())
                            .flatMap(other -> other.gpus().stream())
                            .collect(Collectors.toSet());
            return world.gpus().size() - used.size() < request.gpus() && namesAll(message, used);
        }

        /** Whether it names the GPUs that are used, and no others. */
        private boolean namesAll(String message, Set<String> used) {
            Set<String> named =
                    NAMED.matcher(message)
                            .results()
                            .flatMap(found -> indices(found.group(1)))
                            .collect(Collectors.toSet());
            return named.equals(
                    world.gpus().stream()
                            .filter(gpu -> used.contains(gpu.uuid()))
                            .map(gpu -> "" + gpu.index())
                            .collect(Collectors.toSet()));
        }

        /**
         * @param list such as {@code 0-2} or {@code 0,2}
         */
        private static Stream<String> indices(String list) {
            return list.matches("[0-9]-[0-9]")
                    ? IntStream.rangeClosed(list.charAt(0) - '0', list.charAt(2) - '0')
                            .mapToObj(Integer::toString)
                    : Stream.of(list.split(","));
        }

        private static OciCreation creation(String id, GpuRequest request, ProcessId process) {
            return new OciCreation(
                    new OciContainers.Container("/run/runc", id),
                    id,
                    Optional.empty(),
                    process,
                    Optional.empty(),
                    Owner.UNKNOWN,
                    request,
                    Optional.empty());
        }

        private ProcessId spawn(Container it, boolean mounted) {
            return world.machine.spawn(
                    it.lease.map(lease -> lease.claim().id()).filter(_ -> mounted),
                    Optional.of("/docker/" + it.id));
        }

        /** Only the registry knows of containers that have no mount yet, or none any more. */
        private void restart(boolean lost) throws IOException {
            boolean told =
                    containers.stream()
                            .allMatch(it ->
                                    it.runtime.isEmpty() && it.others.isEmpty() || !it.lives());
            world.daemon.kill();
            if (lost && told) {
                world.disk.loseRegistry(false);
            }
            world.daemon.start();
        }

        @Override
        public void check() throws IOException {
            List<Lease> live = parts().registry().live();
            Set<String> used = new HashSet<>();
            for (Container it : containers) {
                if (it.lives()) {
                    for (String gpu : it.gpus()) {
                        assertTrue(used.add(gpu), () -> gpu + " has two holders, one is " + it.id);
                    }
                    String claim = it.lease.orElseThrow().claim().id();
                    assertEquals(
                            1,
                            live.stream().filter(of -> of.claim().id().equals(claim)).count(),
                            () -> it + " lives without its lease: " + past());
                }
            }
            Set<String> leased = new HashSet<>();
            for (Lease lease : live) {
                for (ClaimedGpu gpu : lease.claim().gpus()) {
                    assertTrue(leased.add(gpu.uuid()), () -> gpu + " is in two leases: " + live);
                }
            }
        }

        private String past() {
            try {
                return parts().registry().history().past(CONTAINERS).toString();
            } catch (IOException e) {
                return e.getMessage();
            }
        }

        /** When all have ended, all GPUs are available. */
        @Override
        public void settle() throws Exception {
            for (Container it : containers) {
                it.runtime.ifPresent(world.machine::end);
                it.init.ifPresent(world.machine::end);
                it.others.forEach(world.machine::end);
            }
            parts().leases().live();
            world.machine.pass(SETTLED);
            assertEquals(List.of(), parts().leases().live());
            GpuRequest all = new GpuRequest.Count(world.gpus().size());
            ProcessId process = world.machine.spawn();
            assertTrue(parts().oci().claim(creation("all", all, process)).isPresent());
        }
    }
}
