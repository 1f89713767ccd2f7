package jnvdocker.doctor;

import jnvdocker.host.Gpu;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.text.GpuText;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.nvml.GpuHealth.Health;
import jnvdocker.words.Span;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Finds GPUs that cannot be given out, though nobody uses them, and GPUs that are lost while held.
 */
final class GpuCheck implements Check {
    /** NVML's bits for a GPU that is slowed down by heat, or by its power supply. */
    private static final long SLOWED_BY_HEAT = 0x20 | 0x40;

    private static final long SLOWED_BY_POWER = 0x80;
    private static final Duration LATE = Duration.ofMinutes(1);

    private final Board board;
    private final Supplier<Map<String, Health>> health;

    /** Supplies the current status of every GPU. */
    @FunctionalInterface
    interface Board {
        List<GpuStatus> status() throws IOException;
    }

    /**
     * @param health by UUID; no entry for a GPU that the monitor does not know yet
     */
    GpuCheck(Board board, Supplier<Map<String, Health>> health) {
        this.board = board;
        this.health = health;
    }

    @Override
    public String name() {
        return "gpus";
    }

    @Override
    public List<Finding> findings() throws IOException {
        List<GpuStatus> all = board.status();
        if (all.isEmpty()) {
            return List.of(
                    Finding.wrong(
                            "the driver shows no GPU",
                            "check lspci, and dmesg | grep -i nvrm for the cause"));
        }
        List<Finding> found = new ArrayList<>();
        found.add(Finding.ok(count(all)));
        all.forEach(gpu -> trouble(gpu).ifPresent(found::add));
        Map<String, Health> known = health.get();
        for (GpuStatus status : all) {
            if (status.gpu().isSound() && known.containsKey(status.gpu().uuid())) {
                found.addAll(hints(status.gpu(), known.get(status.gpu().uuid()), Instant.now()));
            }
        }
        return found;
    }

    /** Hints that do not take a GPU out of service. */
    static List<Finding> hints(Gpu gpu, Health health, Instant now) {
        String name = GpuText.name(gpu);
        List<Finding> hints = new ArrayList<>();
        long slowed = health.throttling().orElse(0);
        if ((slowed & SLOWED_BY_HEAT) != 0) {
            hints.add(
                    Finding.hint(
                            name + " is slowed down, since it is too hot",
                            "check its fans and its air flow"));
        }
        if ((slowed & SLOWED_BY_POWER) != 0) {
            hints.add(
                    Finding.hint(
                            name + " is slowed down by its power supply",
                            "check its power cables and the host's power supply"));
        }
        long uncorrected = health.uncorrected().orElse(0);
        if (uncorrected > 0) {
            hints.add(
                    Finding.hint(
                            name
                                    + " has had "
                                    + (uncorrected == 1 ? "1 error" : uncorrected + " errors")
                                    + " of its memory that could not be corrected, since the driver"
                                    + " was loaded",
                            "reset it when it is idle; have it replaced if that goes on"));
        }
        if (health.otherXid().isPresent()) {
            hints.add(
                    Finding.hint(
                            "the driver has reported Xid "
                                    + health.otherXid().getAsInt()
                                    + " of "
                                    + name,
                            "search dmesg and NVIDIA's list of Xids for it"));
        }
        Optional<Instant> late =
                health.reportedAt().filter(at -> Duration.between(at, now).compareTo(LATE) > 0);
        if (late.isPresent()) {
            hints.add(
                    Finding.hint(
                            "NVML has not answered about "
                                    + name
                                    + " for "
                                    + Span.between(late.get(), now),
                            "search dmesg for Xid: the driver may wait for the GPU"));
        }
        return hints;
    }

    private static String count(List<GpuStatus> all) {
        TreeMap<GpuStatus.State, Long> states =
                all.stream()
                        .collect(
                                Collectors.groupingBy(
                                        GpuStatus::state, TreeMap::new, Collectors.counting()));
        return (all.size() == 1 ? "1 GPU: " : all.size() + " GPUs: ")
                + states.entrySet().stream()
                        .map(state ->
                                state.getValue()
                                        + " "
                                        + state.getKey().name().toLowerCase(Locale.ROOT))
                        .collect(Collectors.joining(", "));
    }

    static Optional<Finding> trouble(GpuStatus status) {
        Gpu gpu = status.gpu();
        String name = LeaseText.name(gpu.number(), gpu.uuid());
        String held = status.lease().map(lease -> name + " " + LeaseText.held(lease)).orElse(name);
        return switch (status.state()) {
            case SICK -> Optional.of(Finding.wrong(GpuText.sick(gpu)));
            case MISSING ->
                    Optional.of(
                            Finding.wrong(
                                    held + ", and the driver does not show it",
                                    "search dmesg for Xid: it may have fallen off the bus, and"
                                            + " come back with a restart of the host"));
            case STUCK ->
                    Optional.of(
                            Finding.wrong(
                                    held + ": " + status.note(),
                                    "end that process (kill -KILL PID); if it does not end, search"
                                            + " dmesg for Xid: it waits in the kernel, and it"
                                            + " may take a restart of the host"));
            case HELD, RESERVED ->
                    gpu.trouble()
                            .map(why ->
                                    Finding.wrong(
                                            held + ", and has a fault: " + why.what(),
                                            why.remedy().orElseThrow()));
            case FREE, UNMANAGED, CORDONED ->
                    gpu.hasUuid()
                            ? Optional.empty()
                            : Optional.of(
                                    Finding.wrong(
                                            "GPU "
                                                    + gpu.number()
                                                    + " at "
                                                    + gpu.pciAddress()
                                                    + " has no UUID yet: nothing has opened it"
                                                    + " since boot",
                                            "run nvidia-smi once as root, and have"
                                                    + " jnvdocker-nodes.service do it at boot"));
        };
    }
}
