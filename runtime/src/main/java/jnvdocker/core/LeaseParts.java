package jnvdocker.core;

import jnvdocker.claim.ClaimPrune;
import jnvdocker.claim.ClaimStarts;
import jnvdocker.claim.ClaimVolumes;
import jnvdocker.claim.RefusedStarts;
import jnvdocker.decision.DecisionLog;
import jnvdocker.grant.Grants;
import jnvdocker.grant.QueueKeeper;
import jnvdocker.grant.Reservations;
import jnvdocker.grant.WaitingQueue;
import jnvdocker.holder.ClaimUsers;
import jnvdocker.holder.ContainerEngine;
import jnvdocker.holder.Evidence;
import jnvdocker.holder.HolderKind;
import jnvdocker.holder.Leftovers;
import jnvdocker.holder.Pace;
import jnvdocker.holder.PresentGpus;
import jnvdocker.holder.Unleased;
import jnvdocker.holder.UnmanagedScan;
import jnvdocker.host.GpuTroubles;
import jnvdocker.keeper.ClaimRemover;
import jnvdocker.keeper.HolderStops;
import jnvdocker.keeper.Keeper;
import jnvdocker.keeper.LostGroups;
import jnvdocker.lease.GpuTraits;
import jnvdocker.lease.LeasePolicy;
import jnvdocker.lease.text.ContainerOwner;
import jnvdocker.oci.lease.OciContainers;
import jnvdocker.oci.lease.OciKeeper;
import jnvdocker.process.Processes;
import jnvdocker.recovery.Reconciler;
import jnvdocker.registry.ClaimFiles;
import jnvdocker.registry.HostClock;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.registry.RegistryException;
import jnvdocker.supply.AllowanceReader;
import jnvdocker.supply.Supply;
import jnvdocker.use.GpuUses;
import jnvdocker.use.MemoryUsers;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/** The parts that give out GPUs, put together: the registry on disk, and what works with it. */
public record LeaseParts(
        LeaseRegistry registry,
        Leases leases,
        ClaimVolumes volumes,
        Reconciler reconciler,
        Keeper keeper,
        QueueKeeper queueKeeper,
        RefusedStarts refusedStarts,
        HolderStops stops,
        ClaimPrune prune,
        Unleased unleased,
        OciContainers oci,
        OciKeeper ociKeeper,
        WaitingQueue queue,
        Supply supply,
        UnmanagedScan unmanagedScan,
        Grants grants)
        implements AutoCloseable {
    /**
     * Where the parts find the world.
     *
     * @param state the directory of the registry and the claims
     * @param boot this boot's id
     * @param volumeDriver the name of our volume plugin
     * @param uses the uses of GPUs, with and without leases
     * @param troubles the faults of GPUs, as they are known by now
     * @param memory the processes that have memory of GPUs, as they are known by now
     * @param policy the limits of the configuration, as they are now
     * @param trusted what counts as evidence of a container's owner, as the configuration is now
     * @param traits the facts about GPUs that NVML has reported by now
     * @param random for the keys of new claims
     * @param groups of users, on which limits depend
     * @param log that is notified of each decision
     */
    public record World(
            Path state,
            String boot,
            String volumeDriver,
            Processes processes,
            ContainerEngine engine,
            PresentGpus inventory,
            GpuUses uses,
            GpuTroubles troubles,
            MemoryUsers memory,
            Supplier<LeasePolicy> policy,
            Supplier<Set<ContainerOwner.Trust>> trusted,
            Supplier<GpuTraits> traits,
            HostClock clock,
            RandomGenerator random,
            Pace pace,
            AllowanceReader.Groups groups,
            DecisionLog log) {}

    /**
     * Opens the registry and brings it into line with this machine's processes, so that it may be
     * served.
     *
     * @param others the kinds of holders that packages after this one know
     * @throws RegistryException when it is of a newer version, or cannot be opened
     */
    public static LeaseParts open(World world, HolderKind... others) throws IOException {
        LeaseRegistry registry =
                LeaseRegistry.open(world.state(), world.boot(), world.clock(), world.random());
        registry.addListener(world.log());
        world.troubles().addListener(registry.changes()::add);
        PresentGpus inventory = () -> world.troubles().mark(world.inventory().gpus());
        Supply supply =
                new Supply(
                        inventory,
                        world.traits(),
                        world.policy(),
                        new AllowanceReader(registry, world.groups(), world.pace()));
        try {
            ClaimFiles files = new ClaimFiles(world.state());
            Evidence evidence =
                    new Evidence(world.processes(), world.boot(), world.state(), List.of(others));
            Leftovers leftovers = new Leftovers(evidence, world.memory());
            Unleased unleased = new Unleased(registry, evidence);
            ClaimRemover remover = new ClaimRemover(registry, files, evidence);
            UnmanagedScan unmanagedScan =
                    new UnmanagedScan(world.uses(), registry, evidence, unleased, leftovers);
            Keeper keeper =
                    new Keeper(
                            registry,
                            evidence,
                            leftovers,
                            world.engine(),
                            world.pace(),
                            world.volumeDriver());
            Reconciler reconciler =
                    new Reconciler(
                            registry,
                            files,
                            evidence,
                            keeper,
                            world.engine(),
                            inventory,
                            unleased,
                            remover,
                            leftovers,
                            unmanagedScan);
            reconciler.start();
            WaitingQueue queue =
                    WaitingQueue.open(registry, evidence, world.policy(), world.pace());
            HolderStops stops =
                    new HolderStops(registry, evidence, world.engine(), world.log(), world.pace());
            Grants grants =
                    new Grants(
                            new Grants.Parts(
                                    registry,
                                    supply,
                                    unmanagedScan,
                                    keeper,
                                    queue,
                                    new Reservations(registry, files, keeper, remover),
                                    world.pace()));
            RefusedStarts refusedStarts =
                    new RefusedStarts(grants.parts(), world.engine(), world.volumeDriver());
            ClaimUsers users = new ClaimUsers(world.engine(), new ContainerOwner(world.trusted()));
            return new LeaseParts(
                    registry,
                    new Leases(
                            grants, evidence, world.troubles(), world.volumeDriver(), world.log()),
                    new ClaimVolumes(
                            registry,
                            files,
                            remover,
                            new ClaimStarts(grants, evidence, users),
                            users,
                            keeper,
                            supply,
                            refusedStarts,
                            world.log()),
                    reconciler,
                    keeper,
                    new QueueKeeper(grants, world.log()),
                    refusedStarts,
                    stops,
                    new ClaimPrune(
                            registry, files, remover, evidence, keeper, world.engine(), reconciler),
                    unleased,
                    new OciContainers(grants, files, evidence, leftovers, world.troubles()),
                    new OciKeeper(registry, files, evidence, keeper, remover, world.pace()),
                    queue,
                    supply,
                    unmanagedScan,
                    grants);
        } catch (IOException | RuntimeException | Error e) {
            registry.close();
            throw e;
        }
    }

    /** Starts the thread that ends leases, and removes what they leave behind. */
    public Keeper keep(Pace pace) {
        LostGroups groups = new LostGroups(registry, pace);
        keeper.after(_ -> groups.removeInTurn());
        return keeper.start();
    }

    @Override
    public void close() throws IOException {
        registry.close();
    }
}
