package jnvdocker.doctor;

import jnvdocker.host.Gpu;
import jnvdocker.host.HostDriver;
import jnvdocker.host.PassedThrough;
import jnvdocker.lease.Claim;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.text.GpuText;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.NodeText;
import jnvdocker.lease.text.Owners;
import jnvdocker.nvml.GpuHealth.Health;
import jnvdocker.process.OpenDevices;
import jnvdocker.use.GpuUse;
import jnvdocker.words.Indices;
import jnvdocker.words.Quote;
import jnvdocker.words.Span;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Checks the GPUs, and their users. */
final class GpuChecks {
    /** NVML's bits for a GPU that is slowed down by heat, or by its power supply. */
    private static final long SLOWED_BY_HEAT = 0x20 | 0x40;

    private static final long SLOWED_BY_POWER = 0x80;
    private static final Duration LATE = Duration.ofMinutes(1);

    private final Doctor.Surroundings around;

    GpuChecks(Doctor.Surroundings around) {
        this.around = around;
    }

    private List<GpuStatus> status() throws IOException {
        return around.leases().status(HostDriver.read(around.host()).gpus());
    }

    /** GPUs that cannot be given out, though nobody uses them, and those lost while held. */
    void gpus(Findings found) throws IOException {
        List<GpuStatus> all = status();
        List<String> away = PassedThrough.addresses(around.host());
        if (all.isEmpty()) {
            found.wrong(
                    "the driver shows no GPU" + away(away),
                    away.isEmpty()
                            ? "check lspci, and dmesg | grep -i nvrm for the cause"
                            : comesBack(away));
            return;
        }
        found.ok(count(all));
        all.forEach(gpu -> trouble(gpu, away, found));
        List<Lease> live = around.leases().live();
        all.forEach(gpu -> live.forEach(lease -> open(gpu.gpu(), lease, found)));
        Map<String, Health> known = around.health().all();
        for (GpuStatus status : all) {
            if (status.gpu().isSound() && known.containsKey(status.gpu().uuid())) {
                hints(status.gpu(), known.get(status.gpu().uuid()), found);
            }
        }
    }

    /** A GPU whose node the holder of another GPU was given, before the driver was loaded again. */
    private static void open(Gpu gpu, Lease lease, Findings found) {
        NodeText.open(lease, gpu)
                .ifPresent(is ->
                        found.wrong(
                                GpuText.name(gpu) + " " + is,
                                LeaseText.toEnd(lease.claim())
                                        + ": the GPU is nobody else's until then"));
    }

    /** Hints that do not take a GPU out of service. */
    private static void hints(Gpu gpu, Health health, Findings found) {
        Instant now = Instant.now();
        String name = GpuText.name(gpu);
        long slowed = health.throttling().orElse(0);
        if ((slowed & SLOWED_BY_HEAT) != 0) {
            found.hint(
                    name + " is slowed down, since it is too hot",
                    "check its fans and its air flow");
        }
        if ((slowed & SLOWED_BY_POWER) != 0) {
            found.hint(
                    name + " is slowed down by its power supply",
                    "check its power cables and the host's power supply");
        }
        long uncorrected = health.uncorrected().orElse(0);
        if (uncorrected > 0) {
            found.hint(
                    name
                            + " has had "
                            + (uncorrected == 1 ? "1 error" : uncorrected + " errors")
                            + " of its memory that could not be corrected, since the driver"
                            + " was loaded",
                    "reset it when it is idle; have it replaced if that goes on");
        }
        if (health.otherXid().isPresent()) {
            found.hint(
                    "the driver has reported Xid " + health.otherXid().getAsInt() + " of " + name,
                    "search dmesg and NVIDIA's list of Xids for it");
        }
        Optional<Instant> late =
                health.reportedAt().filter(at -> Duration.between(at, now).compareTo(LATE) > 0);
        if (late.isPresent()) {
            found.hint(
                    "NVML has not answered about " + name + " for " + Span.between(late.get(), now),
                    "search dmesg for Xid: the driver may wait for the GPU");
        }
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

    private static String away(List<String> addresses) {
        return addresses.isEmpty()
                ? ""
                : "; %s %s bound to vfio-pci, as for a virtual machine"
                        .formatted(
                                String.join(", ", addresses), addresses.size() == 1 ? "is" : "are");
    }

    private static String comesBack(List<String> addresses) {
        return "when no virtual machine uses it, give it back to the driver: driverctl"
                + " unset-override "
                + addresses.getFirst();
    }

    private static void trouble(GpuStatus status, List<String> away, Findings found) {
        Gpu gpu = status.gpu();
        String name = LeaseText.name(gpu.number(), gpu.uuid());
        String held = status.lease().map(lease -> name + " " + LeaseText.held(lease)).orElse(name);
        switch (status.state()) {
            case SICK -> found.wrong(GpuText.sick(gpu));
            case MISSING ->
                    found.wrong(
                            held + ", and the driver does not show it" + away(away),
                            away.isEmpty()
                                    ? "search dmesg for Xid: it may have fallen off the bus, and"
                                            + " come back with a restart of the host"
                                    : comesBack(away));
            case STUCK ->
                    found.wrong(
                            held + ": " + status.note(),
                            "end that process (kill -KILL PID); if it does not end, search dmesg"
                                    + " for Xid: it waits in the kernel, and it may take a restart"
                                    + " of the host");
            case HELD, RESERVED ->
                    gpu.trouble()
                            .map(why -> why.precededBy(held + ", and has a fault: "))
                            .ifPresent(found::wrong);
            case FREE, UNMANAGED, CORDONED -> {
                if (!gpu.hasUuid()) {
                    found.wrong(
                            "GPU %s at %s has no UUID yet: nothing has opened it since boot"
                                    .formatted(gpu.number(), gpu.pciAddress()),
                            "run nvidia-smi once as root, and have jnvdocker-nodes.service do it"
                                    + " at boot");
                }
            }
        }
    }

    /** Unmanaged use of GPUs. */
    void others(Findings found) throws IOException {
        List<GpuStatus> all = status();
        Collection<List<GpuUse>> lost = lost(all);
        Set<Optional<String>> told =
                lost.stream().map(uses -> container(uses.getFirst())).collect(Collectors.toSet());
        for (GpuStatus gpu : all) {
            gpu.unmanaged().stream()
                    .filter(use -> use.kind() != GpuUse.Kind.CLAIM)
                    .filter(use -> use.container().isEmpty() || !told.contains(container(use)))
                    .forEach(use -> add(gpu, use, found));
        }
        lost.forEach(uses -> addLost(uses, found));
        found.okIfNothingElse("nobody uses a GPU without a lease");
    }

    /**
     * The uses of those whose leases were lost, or are held by others: each has one for every GPU
     * that may be its own.
     */
    static Collection<List<GpuUse>> lost(List<GpuStatus> all) {
        return all.stream()
                .flatMap(gpu -> gpu.unmanaged().stream())
                .filter(use -> use.kind() == GpuUse.Kind.CLAIM)
                .collect(
                        Collectors.groupingBy(
                                use -> use.process().orElseThrow().id().pid(),
                                TreeMap::new,
                                Collectors.toList()))
                .values();
    }

    private static Optional<String> container(GpuUse use) {
        return LeaseText.containerId(use).or(() -> use.process().flatMap(GpuUse.User::containerId));
    }

    private static void addLost(List<GpuUse> uses, Findings found) {
        GpuUse use = uses.getFirst();
        Optional<String> container = container(use);
        found.wrong(
                (uses.size() == 1
                                ? GpuText.name(use.gpu()) + " counts"
                                : "GPUs "
                                        + Indices.numbers(
                                                uses.stream().map(it -> it.gpu().number()))
                                        + " count")
                        + " as used by process "
                        + LeaseText.name(use)
                        + container.map(id -> " of container " + Claim.shortId(id)).orElse("")
                        + ": "
                        + LeaseText.how(use),
                "end it ("
                        + container
                                .map(id -> "docker rm -f " + Claim.shortId(id))
                                .orElse("kill" + pid(use))
                        + "), and run it again: nobody else gets the GPUs before");
    }

    private static void add(GpuStatus gpu, GpuUse use, Findings found) {
        String used =
                LeaseText.name(gpu.gpu().number(), gpu.gpu().uuid()) + " " + LeaseText.used(use);
        found.wrong(
                used,
                use.container()
                                .map(container -> "docker stop " + Quote.shown(container.name()))
                                .or(() -> LeaseText.other(use).map(it -> Quote.shown(it.toStop())))
                                .orElseGet(() -> "have its user end it, or kill" + pid(use))
                        + (LeaseText.other(use).isPresent()
                                ? ", and start it with a lease (jnvdocker runtime --help)"
                                : ", and start it with jnvdocker run")
                        + "; or add it to ignore in the configuration");
    }

    private static String pid(GpuUse use) {
        return use.process().map(process -> " " + process.id().pid()).orElse("");
    }

    /** Processes with so many open files that the search for a GPU among them takes a while. */
    void files(Findings found) throws IOException {
        status(); // so that it is up to date
        Map<Integer, List<OpenDevices.Partial>> users =
                around.leases().partiallyScanned().stream()
                        .collect(
                                Collectors.groupingBy(
                                        process -> process.credentials().uid(),
                                        TreeMap::new,
                                        Collectors.toList()));
        users.forEach((uid, processes) -> add(uid, processes, found));
        found.okIfNothingElse("all open files can be checked in one pass");
    }

    private static void add(int uid, List<OpenDevices.Partial> processes, Findings found) {
        long pending = processes.stream().filter(OpenDevices.Partial::pending).count();
        String what =
                Quote.shown(Owners.of(uid).name())
                        + " has more files open than are checked in one pass ("
                        + (processes.size() == 1 ? "pid " : processes.size() + " processes, pid ")
                        + processes.getFirst().process().pid()
                        + "): GPUs among them are seen some seconds late";
        String remedy =
                "see what they are (ls -l /proc/PID/fd), and end what is not needed, or limit it"
                        + " (ulimit -n)";
        if (pending == 0) {
            found.hint(what, remedy);
        } else {
            found.wrong(
                    what
                            + ", and until "
                            + (pending == 1 ? "one of them is" : pending + " of them are")
                            + " read, the GPUs that they may open count as used",
                    remedy);
        }
    }
}
