package jnvdocker.nvml;

import jnvdocker.host.Gpu;
import jnvdocker.host.NoDriverException;
import jnvdocker.labels.DriverVersion;
import jnvdocker.nvml.GpuFigures.Mig;
import jnvdocker.posix.PermanentThread;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Keeps what NVML last reported of each GPU. Each GPU has a thread of its own, and another one
 * keeps the session: a call that does not return delays the news of one GPU, and nothing else. A
 * query returns what is known by then.
 */
public final class GpuMonitor implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(GpuMonitor.class);

    /** Between attempts to open the library, which costs the driver something. */
    private static final Duration LONGEST_PAUSE = Duration.ofMinutes(1);

    private final Source source;
    private final Pace pace;
    private final GpuHealth health;
    private final Map<String, Reading> readings = new ConcurrentHashMap<>();
    private final Map<String, Watcher> watchers = new HashMap<>();
    private String said = "";
    private volatile Interconnect interconnect = new Interconnect();
    private volatile Optional<CudaVersions.Reported> cuda = Optional.empty();
    private volatile boolean closed;
    private volatile long queriedAt = System.nanoTime();

    /** The host's driver and GPUs. */
    public interface Source {
        /**
         * The loaded driver's libnvidia-ml, by the file's own name, which is another one after an
         * upgrade; empty when no driver is loaded.
         */
        Optional<Path> library() throws IOException;

        List<Gpu> gpus() throws IOException;

        /** Returns what is another value after each load of the driver. */
        String load() throws IOException;

        /** Whether the GPU at an address is switched off until something uses it. */
        default boolean isAsleep(String pciAddress) {
            return false;
        }

        /** Receives the MIG mode of a GPU that has one, after every reading of its figures. */
        default void report(String pciAddress, Mig mig) {}
    }

    /**
     * How often the GPUs are queried.
     *
     * @param watched the period while clients request readings
     * @param idle the period while none does
     * @param patience how long after a request the next one is expected
     * @param links the period of queries for their links, which seldom change
     * @param silence how old the last answer about a GPU may be before its figures are no longer
     *     reported: a call that does not return would have them stand for ever
     */
    public record Pace(
            Duration watched, Duration idle, Duration patience, Duration links, Duration silence) {
        public static final Pace USUAL =
                new Pace(
                        Duration.ofSeconds(1),
                        Duration.ofSeconds(10),
                        Duration.ofSeconds(5),
                        Duration.ofMinutes(10),
                        Duration.ofSeconds(30));
    }

    /**
     * The last answer about a GPU.
     *
     * @param at when it came; long ago for a GPU that does not answer
     * @param facts empty as long as they are not known
     * @param figures empty when the GPU does not report them
     * @param trouble why it does not: NVML's reason, {@code GPU is lost}, or that it sleeps, or
     *     that the driver has not answered for a while
     * @param answer whether it is one, or what stands for one that has not come
     */
    public record Reading(
            Instant at,
            Optional<GpuFacts> facts,
            Optional<GpuFigures> figures,
            Optional<String> trouble,
            Answer answer) {

        /** An answer that has come. */
        public Reading(
                Instant at,
                Optional<GpuFacts> facts,
                Optional<GpuFigures> figures,
                Optional<String> trouble) {
            this(at, facts, figures, trouble, Answer.GIVEN);
        }

        /** Whether the driver has answered. */
        public enum Answer {
            GIVEN,
            /** Not yet, since the GPU is watched. */
            AWAITED,
            /** Not for longer than {@link Pace#silence}. */
            OVERDUE
        }

        /** What is known before the first answer. */
        private static Reading first() {
            return new Reading(
                    Instant.now(),
                    Optional.empty(),
                    Optional.empty(),
                    Optional.of("the driver has not answered yet"),
                    Answer.AWAITED);
        }

        /** Whether the driver has not answered about it for longer than {@link Pace#silence}. */
        public boolean isSilent() {
            return answer == Answer.OVERDUE;
        }

        /** Returns it without its figures if it is older than that. */
        public Reading asOf(Instant now, Duration silence) {
            boolean due = figures.isPresent() || answer == Answer.AWAITED;
            return due && at.plus(silence).isBefore(now)
                    ? new Reading(
                            at,
                            facts,
                            Optional.empty(),
                            Optional.of("the driver does not answer"),
                            Answer.OVERDUE)
                    : this;
        }

        /** Returns the same; for a MIG instance with its own memory in place of the GPU's. */
        public Reading of(Gpu gpu) {
            return gpu.part().isEmpty() ? this : of(figures.map(it -> it.ofPart(gpu.uuid())));
        }

        private Reading of(Optional<GpuFigures> part) {
            OptionalLong memory =
                    part.flatMap(GpuFigures::memory)
                            .map(it -> OptionalLong.of(it.total()))
                            .orElse(OptionalLong.empty());
            return new Reading(at, facts.map(it -> it.withMemory(memory)), part, trouble, answer);
        }
    }

    /**
     * One that knows nothing before it is started.
     *
     * @param health is notified of every GPU's
     */
    public GpuMonitor(Source source, Pace pace, GpuHealth health) {
        this.source = source;
        this.pace = pace;
        this.health = health;
    }

    /** Begins, without waiting for anything. */
    public GpuMonitor start() {
        PermanentThread.platform("nvml", this::keepSession).start();
        return this;
    }

    /**
     * Returns the last answers by PCI address; empty without a driver, or before the first answer.
     */
    public Map<String, Reading> readings() {
        queriedAt = System.nanoTime();
        return known();
    }

    /**
     * Returns the same, for parts of the daemon that query all the time: does not count as a
     * request.
     */
    public Map<String, Reading> known() {
        Instant now = Instant.now();
        return readings.entrySet().stream()
                .collect(
                        Collectors.toUnmodifiableMap(
                                Map.Entry::getKey, it -> it.getValue().asOf(now, pace.silence())));
    }

    /** Returns how near GPUs are to each other, of each pair of which it is known by now. */
    public Map<GpuPair, Topology> topologies() {
        return interconnect.known();
    }

    /** The CUDA version that the driver supports which NVML has worked with last. */
    public Optional<CudaVersions.Reported> cuda() {
        return cuda;
    }

    /** The faults of the GPUs. */
    public GpuHealth health() {
        return health;
    }

    /**
     * Returns what is known of a GPU, or of a MIG instance with its own memory, by now; does not
     * count as a request for readings.
     */
    public Optional<GpuFacts> facts(Gpu gpu) {
        return Optional.ofNullable(readings.get(gpu.pciAddress()))
                .flatMap(reading -> reading.of(gpu).facts());
    }

    /**
     * Returns the processes that have memory of a GPU; does not count as a request for readings.
     *
     * @return pids
     */
    public Set<Integer> processes(String uuid) {
        return processes(uuid, _ -> true);
    }

    /** Returns those of them that draw and do not compute, as far as the driver reports it. */
    public Set<Integer> drawing(String uuid) {
        return processes(uuid, GpuFigures.GpuProcess::graphics);
    }

    private Set<Integer> processes(String uuid, Predicate<GpuFigures.GpuProcess> which) {
        return readings.values().stream()
                .filter(reading -> reading.facts().filter(it -> it.uuid().equals(uuid)).isPresent())
                .flatMap(reading -> reading.figures().stream())
                .flatMap(figures -> figures.processes().stream())
                .filter(which)
                .map(process -> Math.toIntExact(process.pid()))
                .collect(Collectors.toSet());
    }

    /** Stops the queries. A call that does not return is left to itself. */
    @Override
    public void close() {
        closed = true;
    }

    private void keepSession() {
        Duration pause = pace.idle();
        while (!closed) {
            NvmlSession session = null;
            try {
                Optional<Path> library = source.library();
                List<Gpu> gpus = show();
                // NVML wakes all GPUs when it begins.
                boolean asleep =
                        !gpus.isEmpty()
                                && gpus.stream().allMatch(it -> source.isAsleep(it.pciAddress()));
                if (library.isPresent() && !asleep) {
                    session = new NvmlSession(library.get(), Nvml.open(library.get()));
                    said = "";
                    pause = pace.idle();
                    interconnect = session.interconnect;
                    learnCuda(session.nvml);
                    watch(session);
                }
            } catch (IOException | NvmlException e) {
                say(e.getMessage());
                pause = min(pause.multipliedBy(2), LONGEST_PAUSE);
            } finally {
                end(session);
            }
            rest(pause);
        }
    }

    private void learnCuda(Nvml nvml) {
        try {
            DriverVersion driver = DriverVersion.parse(nvml.driverVersion());
            cuda = nvml.cudaVersion().map(it -> new CudaVersions.Reported(driver, it));
        } catch (NvmlException | IllegalArgumentException e) {
            LOG.debug("NVML reports no CUDA version: {}", e.getMessage());
        }
    }

    private List<Gpu> show() throws IOException {
        List<Gpu> gpus = List.of();
        String load = "";
        try {
            gpus = source.gpus();
            load = source.load();
        } catch (NoDriverException e) {
            // Without a driver there are no GPUs.
        }
        health.shown(gpus, load);
        health.save();
        return gpus;
    }

    /** Once for each reason: what fails goes on failing. */
    private void say(String reason) {
        if (!said.equals(reason)) {
            LOG.info("NVML reports nothing about the GPUs: {}", reason);
            said = reason;
        }
    }

    /** Has every GPU watched until the driver goes, or another comes. */
    private void watch(NvmlSession session) throws IOException {
        while (!closed && !session.over && source.library().equals(Optional.of(session.file))) {
            List<Gpu> gpus = show();
            Set<String> addresses = gpus.stream().map(Gpu::pciAddress).collect(Collectors.toSet());
            watchers.entrySet()
                    .removeIf(watcher -> {
                        boolean gone = !addresses.contains(watcher.getKey());
                        watcher.getValue().stopped |= gone;
                        return gone;
                    });
            readings.keySet().retainAll(addresses);
            session.interconnect.setGpus(addresses);
            for (String address : addresses) {
                watchers.computeIfAbsent(address, _ -> new Watcher(session, address).start());
            }
            rest(pace.watched());
        }
    }

    private void end(NvmlSession session) {
        watchers.values().forEach(watcher -> watcher.stopped = true);
        watchers.clear();
        readings.clear();
        interconnect = new Interconnect();
        if (session != null) {
            session.end();
        }
    }

    private static Duration min(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }

    private static void rest(Duration time) {
        try {
            Thread.sleep(time);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Duration period() {
        boolean watched = System.nanoTime() - queriedAt < pace.patience().toNanos();
        return watched ? pace.watched() : pace.idle();
    }

    private final class Watcher {
        private final NvmlSession session;
        private final String address;
        private Optional<GpuFacts> facts = Optional.empty();
        private Thread learner = new Thread();
        private long learntAt = System.nanoTime();
        private volatile boolean stopped;

        Watcher(NvmlSession session, String address) {
            this.session = session;
            this.address = address;
        }

        Watcher start() {
            readings.put(address, Reading.first());
            PermanentThread.platform("nvml-" + address, this::run).start();
            PermanentThread.platform("nvml-events-" + address, this::listen).start();
            return this;
        }

        /** Receives the errors of the GPU, unless it cannot report them. */
        private void listen() {
            boolean reports = true;
            while (reports && isNeeded() && session.enter()) {
                if (source.isAsleep(address)) {
                    session.leave();
                    rest(pace.idle());
                    continue;
                }
                try (GpuEvents events = session.nvml.gpu(address).events()) {
                    while (isNeeded()) {
                        events.await(pace.watched()).ifPresent(this::report);
                    }
                } catch (NvmlException e) {
                    reports = !e.isNotSupported();
                    LOG.debug("cannot watch the GPU at {} for errors: {}", address, e.getMessage());
                } finally {
                    session.leave();
                }
                rest(pace.idle());
            }
        }

        private void report(int xid) {
            LOG.info("the driver reports Xid {} of the GPU at {}", xid, address);
            health.reported(address, xid);
            health.save();
        }

        private boolean isNeeded() {
            return !closed && !stopped;
        }

        private void run() {
            while (isNeeded() && session.enter()) {
                Reading reading;
                try {
                    reading = read();
                } finally {
                    session.leave();
                }
                keep(reading);
                if (reading.trouble().isEmpty()) {
                    learnLinksIfDue();
                }
                restUntilDue();
            }
        }

        /** On a thread of its own, because it has to do with other GPUs as well. */
        private void learnLinksIfDue() {
            boolean due =
                    !session.interconnect.knows(address)
                            || System.nanoTime() - learntAt > pace.links().toNanos();
            if (due && !learner.isAlive()) {
                learntAt = System.nanoTime();
                learner =
                        Thread.ofPlatform()
                                .daemon()
                                .name("nvml-links-" + address)
                                .start(this::learnLinks);
            }
        }

        private void learnLinks() {
            if (session.enter()) {
                try {
                    session.interconnect.learn(address, session.nvml.gpu(address));
                } catch (NvmlException e) {
                    LOG.debug("GPU {} does not report its links: {}", address, e.getMessage());
                } finally {
                    session.leave();
                }
            }
        }

        private Reading read() {
            Instant begun = Instant.now();
            if (source.isAsleep(address)) {
                return new Reading(begun, facts, Optional.empty(), Optional.of("it sleeps"));
            }
            try {
                NvmlGpu gpu = session.nvml.gpu(address);
                if (facts.isEmpty()) {
                    facts = Optional.of(gpu.facts());
                }
                GpuFigures figures = gpu.figures();
                health.answered(address, begun, figures);
                return new Reading(Instant.now(), facts, Optional.of(figures), Optional.empty());
            } catch (NvmlException e) {
                if (e.needsReset()) {
                    health.silent(address, e.getMessage());
                }
                session.over |= e.isOfTheDriver();
                return new Reading(
                        Instant.now(), facts, Optional.empty(), Optional.of(e.getMessage()));
            }
        }

        private void keep(Reading reading) {
            if (!stopped) {
                readings.put(address, reading);
                reading.figures()
                        .flatMap(GpuFigures::mig)
                        .ifPresent(mig -> source.report(address, mig));
            }
        }

        /** Waits in short steps, since clients may begin to request readings meanwhile. */
        private void restUntilDue() {
            long begin = System.nanoTime();
            do {
                rest(pace.watched());
            } while (isNeeded() && System.nanoTime() - begin < period().toNanos());
        }
    }
}
