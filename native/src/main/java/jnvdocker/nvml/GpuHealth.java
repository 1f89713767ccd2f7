package jnvdocker.nvml;

import jnvdocker.host.Gpu;
import jnvdocker.host.GpuTroubles;
import jnvdocker.nvml.GpuFigures.Errors;
import jnvdocker.words.Refusal;

import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

/**
 * The faults of GPUs, as NVML has reported them so far: a query waits for nothing.
 *
 * <p>A reported error counts until there is evidence that the GPU was reset since: it has not
 * answered for a while and answers again, a counter that only a reset sets back was set back, what
 * waited for a reset is done, the driver has initialized the GPU again or was loaded again, or root
 * declares it. The passage of time is no evidence.
 */
public final class GpuHealth implements GpuTroubles {
    private final ReportedErrors reported;
    private final Map<String, State> states = new HashMap<>();
    private final List<Runnable> listeners = new CopyOnWriteArrayList<>();

    private GpuHealth(ReportedErrors reported) {
        this.reported = reported;
    }

    /**
     * Reads what was reported since the host was started, and keeps what will be.
     *
     * @param file which need not be there
     * @param boot this boot's id
     */
    public static GpuHealth keptIn(Path file, String boot) {
        return new GpuHealth(ReportedErrors.read(file, boot));
    }

    /** The known facts about the GPU at a PCI address. */
    private static final class State {
        private final String uuid;
        private Optional<Fault> silent = Optional.empty();
        private Optional<Fault> resetDue = Optional.empty();
        private Optional<Fault> worn = Optional.empty();
        private OptionalInt otherXid = OptionalInt.empty();
        private Optional<GpuFigures> figures = Optional.empty();
        private Optional<Instant> reportedAt = Optional.empty();

        State(String uuid) {
            this.uuid = uuid;
        }
    }

    /**
     * How a GPU is.
     *
     * @param faults for which it is not given out, the worst first
     * @param uncorrected errors of its memory since the driver was loaded
     * @param throttling the reasons why it is slowed down, as a set of NVML's bits
     * @param otherXid the last that was reported and is neither serious nor a program's fault
     * @param reportedAt when NVML last reported on it; empty when it never has
     */
    public record Health(
            List<Fault> faults,
            OptionalLong uncorrected,
            OptionalLong throttling,
            OptionalInt otherXid,
            Optional<Instant> reportedAt) {
        public Health {
            faults = List.copyOf(faults);
        }
    }

    /** Returns how each GPU is that the driver shows, by UUID. */
    public synchronized Map<String, Health> all() {
        Map<String, Health> all = new HashMap<>();
        for (State state : states.values()) {
            all.put(
                    state.uuid,
                    new Health(
                            faults(state),
                            state.figures
                                    .map(it -> it.errors().uncorrected())
                                    .orElse(OptionalLong.empty()),
                            state.figures.map(GpuFigures::throttling).orElse(OptionalLong.empty()),
                            state.otherXid,
                            state.reportedAt));
        }
        return all;
    }

    @Override
    public Optional<Refusal> of(Gpu gpu) {
        return worst(gpu).map(fault -> new Refusal(fault.what(), fault.remedy(gpu)));
    }

    @Override
    public Optional<Instant> since(Gpu gpu) {
        return worst(gpu).map(Fault::since);
    }

    private synchronized Optional<Fault> worst(Gpu gpu) {
        return Optional.ofNullable(states.get(gpu.pciAddress()))
                .filter(state -> state.uuid.equals(gpu.wholeUuid()))
                .map(this::faults)
                .orElseGet(
                        () -> reported.of(gpu.wholeUuid()).map(Fault.class::cast).stream().toList())
                .stream()
                .findFirst();
    }

    private List<Fault> faults(State state) {
        List<Fault> faults = new ArrayList<>();
        state.silent.ifPresent(faults::add);
        reported.of(state.uuid).ifPresent(faults::add);
        state.worn.ifPresent(faults::add);
        state.resetDue.ifPresent(faults::add);
        return faults;
    }

    @Override
    public void clearReportedFault(Gpu gpu) {
        synchronized (this) {
            reported.forget(gpu.wholeUuid(), "root says so");
        }
        listeners.forEach(Runnable::run);
    }

    @Override
    public void addListener(Runnable listener) {
        listeners.add(listener);
    }

    /**
     * Applies the news, and notifies the listeners of any change of the faults: outside of the
     * lock, which they may need.
     */
    private void change(String address, Consumer<State> news) {
        if (isChangedBy(address, news)) {
            listeners.forEach(Runnable::run);
        }
    }

    private synchronized boolean isChangedBy(String address, Consumer<State> news) {
        State state = states.get(address);
        if (state == null) {
            return false;
        }
        List<Fault> before = faults(state);
        news.accept(state);
        return !faults(state).equals(before);
    }

    /**
     * Records the GPUs that the driver shows. Any other GPU that it shows later was initialized
     * again.
     *
     * @param load what is another value after each load of the driver
     */
    synchronized void shown(List<Gpu> gpus, String load) {
        Map<String, State> before = new HashMap<>(states);
        states.clear();
        for (Gpu gpu : gpus) {
            State known = before.get(gpu.pciAddress());
            boolean same = known != null && known.uuid.equals(gpu.wholeUuid());
            states.put(gpu.pciAddress(), same ? known : new State(gpu.wholeUuid()));
        }
        reported.loaded(load);
        // One that shows no UUID may be any.
        if (gpus.stream().allMatch(gpu -> gpu.isIdentified() && gpu.hasUuid())) {
            reported.keepOnly(gpus.stream().map(Gpu::wholeUuid).toList());
        }
    }

    /**
     * The GPU has answered.
     *
     * @param begun when it was queried
     */
    void answered(String address, Instant begun, GpuFigures figures) {
        change(address, state -> answered(state, begun, figures));
    }

    private void answered(State state, Instant begun, GpuFigures figures) {
        Errors errors = figures.errors();
        boolean due = errors.retirementPending();
        if (state.silent.isPresent() || fellOffBefore(begun, state)) {
            reported.forget(state.uuid, "it answers again");
        }
        if (state.resetDue.isPresent() && !due) {
            reported.forget(state.uuid, "what waited for its reset is done");
        }
        reported.counted(state.uuid, count(errors));
        state.silent = Optional.empty();
        state.resetDue =
                due ? since(state.resetDue, new Fault.ResetDue(Instant.now())) : Optional.empty();
        state.worn =
                errors.remappingFailed()
                        ? since(state.worn, new Fault.OutOfSpareRows(Instant.now()))
                        : Optional.empty();
        state.figures = Optional.of(figures);
        state.reportedAt = Optional.of(Instant.now());
    }

    /** A GPU that is not on the bus does not answer. */
    private boolean fellOffBefore(Instant begun, State state) {
        return reported.of(state.uuid)
                .filter(error -> error.xid() == Xids.OFF_THE_BUS && error.since().isBefore(begun))
                .isPresent();
    }

    private static Optional<Fault> since(Optional<Fault> before, Fault now) {
        return before.or(() -> Optional.of(now));
    }

    private static long count(Errors errors) {
        return errors.corrected().orElse(0) + errors.uncorrected().orElse(0);
    }

    /** The GPU does not answer, and will not before its next reset. */
    void silent(String address, String message) {
        change(
                address,
                state -> {
                    state.silent =
                            since(state.silent, new Fault.NotResponding(message, Instant.now()));
                    state.figures = Optional.empty();
                    state.reportedAt = Optional.of(Instant.now());
                });
    }

    /** The driver has reported an error of the GPU. */
    void reported(String address, int xid) {
        change(address, state -> reported(state, xid));
    }

    private void reported(State state, int xid) {
        if (Xids.serious(xid).isPresent()) {
            long counted = state.figures.map(GpuFigures::errors).map(GpuHealth::count).orElse(0L);
            reported.add(state.uuid, new Fault.Reported(xid, Instant.now()), counted);
        } else if (!Xids.isOfPrograms(xid)) {
            state.otherXid = OptionalInt.of(xid);
        }
    }

    /** Writes what is to be known after a restart of the daemon; may wait for the disk. */
    void save() {
        reported.save();
    }
}
