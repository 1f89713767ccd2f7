package jnvdocker.command.gpu.view;

import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Verdict;
import jnvdocker.posix.ProcessId;
import jnvdocker.use.GpuAccess;
import jnvdocker.use.GpuUse;
import jnvdocker.use.RunningContainer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

/** Sample GPUs and leases. */
public final class Samples {
    public static final Instant NOW = Instant.parse("2026-03-05T12:00:00Z");
    public static final Instant AT_NINE = Instant.parse("2026-03-05T09:00:00Z");
    public static final String CONTAINER_ID = "3f2a9c01d4e5".repeat(5) + "3f2a";

    private static final ProcessId ENGINE = new ProcessId(100, 1);

    private Samples() {}

    public static Gpu gpu(int index) {
        String uuid = "GPU-5c1a%d00%d-1d2c-4e5f-8a9b-01234567890%d".formatted(index, index, index);
        return new Gpu(index, uuid, index, "0000:0" + index + ":00.0", "NVIDIA A100-SXM4-40GB");
    }

    /**
     * Makes a host whose driver shows the first of these GPUs.
     *
     * @param root a directory, which is made
     */
    public static Host host(Path root, int gpus) throws IOException {
        Path driver = root.resolve("proc/driver/nvidia");
        for (int i = 0; i < gpus; i++) {
            Path gpu = Files.createDirectories(driver.resolve("gpus/" + gpu(i).pciAddress()));
            Files.writeString(
                    gpu.resolve("information"),
                    "Model: %s\nGPU UUID: %s\nDevice Minor: %d\n"
                            .formatted(gpu(i).model(), gpu(i).uuid(), i));
        }
        Files.writeString(
                driver.resolve("version"),
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15"
                        + " UTC 2023\n");
        return Host.at(root);
    }

    /** Alice's lease, of a running container. */
    public static Lease held(long id, String name, int... gpus) {
        Holder holder = Holder.of(ENGINE, Optional.of(new ProcessId(4711, 5)), Optional.empty());
        return lease(id, Optional.of(name), holder, Optional.empty(), gpus);
    }

    /** Alice's lease, for a docker run that has not started its container yet. */
    public static Lease reserved(long id, int... gpus) {
        Holder client = Holder.reserved(new ProcessId(4700, 4));
        return lease(id, Optional.empty(), client, Optional.empty(), gpus);
    }

    public static Lease ended(long id, String name, Instant until, String evidence, int... gpus) {
        return lease(
                id,
                Optional.of(name),
                held(id, name, gpus).holder(),
                Optional.of(new Lease.End(until, evidence)),
                gpus);
    }

    /** A lease of another owner. */
    public static Lease of(Lease lease, Owner owner) {
        Claim claim = lease.claim();
        Claim other =
                new Claim(
                        claim.key(),
                        claim.origin(),
                        owner,
                        claim.gpus(),
                        claim.created(),
                        claim.container());
        return new Lease(
                lease.id(),
                other,
                lease.holder(),
                lease.boot(),
                lease.since(),
                Optional.empty(),
                lease.mounts(),
                lease.end());
    }

    private static Lease lease(
            long id, Optional<String> name, Holder holder, Optional<Lease.End> end, int... gpus) {
        List<ClaimedGpu> claimed = new ArrayList<>();
        IntStream.of(gpus)
                .mapToObj(Samples::gpu)
                .forEach(gpu ->
                        claimed.add(
                                new ClaimedGpu(
                                        gpu.uuid(),
                                        gpu.index(),
                                        gpu.minor(),
                                        Optional.empty(),
                                        Optional.empty())));
        Claim claim =
                new Claim(
                        ClaimKey.secretless("%012x".formatted(id * 0x111)),
                        new Origin.EngineContainer("ENGINE", Optional.of("nvidia/cuda:12.2")),
                        new Owner(1000, "alice"),
                        claimed,
                        AT_NINE,
                        name.map(it -> new Claim.ContainerRef(CONTAINER_ID, it)));
        return new Lease(id, claim, holder, "boot", AT_NINE, Optional.empty(), 1, end);
    }

    public static GpuStatus free(int index, Optional<Instant> idleSince) {
        return new GpuStatus(
                verdict(gpu(index)), GpuStatus.State.FREE, Optional.empty(), idleSince, "");
    }

    public static Verdict verdict(Gpu gpu, Verdict.Reason... reasons) {
        return new Verdict(gpu, List.of(), 0, List.of(reasons));
    }

    /** Uses without a lease. */
    public static Verdict.Reason inUse(GpuUse... uses) {
        return new Verdict.InUse(List.of(uses), true, true);
    }

    /** Used by a process, and optionally by a container of plain docker. */
    public static GpuStatus used(int index, boolean container) {
        return used(index, container, Map.of());
    }

    /**
     * @param labels the labels of the container
     */
    public static GpuStatus used(int index, boolean container, Map<String, String> labels) {
        GpuUse.User process =
                new GpuUse.User(new ProcessId(4711, 5), "python3", 0, Optional.empty());
        GpuUse byProcess =
                new GpuUse(gpu(index), GpuUse.Kind.OPEN, Optional.empty(), Optional.of(process));
        RunningContainer plain =
                new RunningContainer(
                        CONTAINER_ID,
                        "plain-1",
                        "cuda",
                        Optional.of(new ProcessId(4712, 6)),
                        labels,
                        List.of(),
                        GpuAccess.NONE);
        GpuUse byContainer =
                new GpuUse(gpu(index), GpuUse.Kind.REQUEST, Optional.of(plain), Optional.empty());
        return new GpuStatus(
                verdict(gpu(index), container ? inUse(byContainer, byProcess) : inUse(byProcess)),
                GpuStatus.State.UNMANAGED,
                Optional.empty(),
                Optional.empty(),
                "");
    }

    public static GpuStatus taken(int index, GpuStatus.State state, Lease lease, String note) {
        Verdict held = verdict(gpu(index), new Verdict.Held(false));
        return new GpuStatus(held, state, Optional.of(lease), Optional.empty(), note);
    }
}
