package jnvdocker.doctor;

import jnvdocker.host.Gpu;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.text.LeaseText;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Finds GPUs that cannot be given out, though nobody uses them, and GPUs that are lost while held.
 */
final class GpuCheck implements Check {
    private final Board board;

    /** Supplies the current status of every GPU. */
    @FunctionalInterface
    interface Board {
        List<GpuStatus> status() throws IOException;
    }

    GpuCheck(Board board) {
        this.board = board;
    }

    @Override
    public String name() {
        return "gpus";
    }

    @Override
    public List<Finding> look() throws IOException {
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
        return found;
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
        String name = LeaseText.name(gpu.index(), gpu.uuid());
        String held = status.lease().map(lease -> name + " " + LeaseText.held(lease)).orElse(name);
        return switch (status.state()) {
            case SICK ->
                    Optional.of(
                            Finding.wrong(
                                    "GPU "
                                            + gpu.index()
                                            + " at "
                                            + gpu.pciAddress()
                                            + " cannot be given out: "
                                            + gpu.trouble(),
                                    "look at the kernel log: dmesg | grep -i nvrm"));
            case MISSING ->
                    Optional.of(
                            Finding.wrong(
                                    held + ", and the driver does not show it",
                                    "look for Xid in dmesg: it may have fallen off the bus, and"
                                            + " come back with a restart of the host"));
            case STUCK ->
                    Optional.of(
                            Finding.wrong(
                                    held + ", whose killed process does not end",
                                    "look for Xid in dmesg: it waits in the kernel, and it may"
                                            + " take a restart of the host"));
            case FREE, RESERVED, HELD, UNMANAGED, CORDONED ->
                    gpu.hasUuid()
                            ? Optional.empty()
                            : Optional.of(
                                    Finding.wrong(
                                            "GPU "
                                                    + gpu.index()
                                                    + " at "
                                                    + gpu.pciAddress()
                                                    + " has no UUID yet: nothing has opened it"
                                                    + " since boot",
                                            "run nvidia-smi once as root, and have"
                                                    + " jnvdocker-nodes.service do it at boot"));
        };
    }
}
