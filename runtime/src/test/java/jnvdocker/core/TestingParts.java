package jnvdocker.core;

import jnvdocker.decision.DecisionLog;
import jnvdocker.holder.ContainerEngine;
import jnvdocker.holder.Pace;
import jnvdocker.holder.PresentGpus;
import jnvdocker.host.Gpu;
import jnvdocker.host.GpuTroubles;
import jnvdocker.lease.GpuTraits;
import jnvdocker.lease.Lease;
import jnvdocker.lease.LeasePolicy;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.lease.Requested;
import jnvdocker.lease.TestingLeases;
import jnvdocker.oci.lease.OciContainers;
import jnvdocker.oci.lease.OciCreation;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.Processes;
import jnvdocker.registry.HostClock;
import jnvdocker.request.GpuRequest;
import jnvdocker.supply.AllowanceReader;
import jnvdocker.use.GpuUses;
import jnvdocker.use.MemoryUsers;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** The parts that give out GPUs, as tests wire them. */
public final class TestingParts {
    private TestingParts() {}

    /** On this machine and by its clock, with GPUs without faults. */
    public static LeaseParts open(
            Path state,
            ContainerEngine engine,
            PresentGpus gpus,
            GpuUses uses,
            LeasePolicy policy,
            GpuTraits traits)
            throws IOException {
        return LeaseParts.open(
                new LeaseParts.World(
                        state,
                        "boot",
                        "nvidia-docker",
                        Processes.ofThisMachine(),
                        engine,
                        gpus,
                        uses,
                        GpuTroubles.NONE,
                        MemoryUsers.UNKNOWN,
                        () -> policy,
                        Set::of,
                        () -> traits,
                        HostClock.OF_THIS_MACHINE,
                        TestingLeases.RANDOM,
                        Pace.REAL,
                        AllowanceReader.Groups.OF_THIS_HOST,
                        new DecisionLog(Optional.empty())));
    }

    /** The creation of a container by the OCI runtime. */
    static OciCreation creation(
            OciContainers.Container container,
            String name,
            Optional<String> image,
            ProcessId runtime,
            Owner owner,
            GpuRequest request) {
        Origin origin = new Origin.OciContainer(container.root(), image);
        return new OciCreation(
                new Request(runtime, new Requested(request, owner), origin, Optional.of(name)),
                container.id(),
                Optional.empty());
    }

    /** Gives a container of the OCI runtime the GPUs that it requests of these. */
    static Lease take(LeaseParts parts, OciCreation creation, List<Gpu> gpus)
            throws RefusedException, IOException {
        return parts.oci().take(creation, parts.oci().scan(gpus)).keep().orElseThrow();
    }

    /** On a machine that a test makes, without an engine. */
    static LeaseParts open(Path state, SimulatedMachine machine, GpuUses uses, Gpu... gpus)
            throws IOException {
        return open(state, machine, uses, Pace.REAL, gpus);
    }

    static LeaseParts open(
            Path state, SimulatedMachine machine, GpuUses uses, Pace pace, Gpu... gpus)
            throws IOException {
        return open(state, machine, uses, GpuTroubles.NONE, MemoryUsers.UNKNOWN, pace, gpus);
    }

    static LeaseParts open(
            Path state,
            SimulatedMachine machine,
            GpuUses uses,
            GpuTroubles troubles,
            MemoryUsers memory,
            Gpu... gpus)
            throws IOException {
        return open(state, machine, uses, troubles, memory, Pace.REAL, gpus);
    }

    private static LeaseParts open(
            Path state,
            SimulatedMachine machine,
            GpuUses uses,
            GpuTroubles troubles,
            MemoryUsers memory,
            Pace pace,
            Gpu... gpus)
            throws IOException {
        return LeaseParts.open(
                new LeaseParts.World(
                        state,
                        machine.bootId(),
                        "nvidia-docker",
                        machine,
                        new NoEngine(),
                        () -> List.of(gpus),
                        uses,
                        troubles,
                        memory,
                        () -> TestingLeases.POLICY,
                        Set::of,
                        () -> GpuTraits.UNKNOWN,
                        machine,
                        TestingLeases.RANDOM,
                        pace,
                        AllowanceReader.Groups.OF_THIS_HOST,
                        new DecisionLog(Optional.empty())));
    }
}
