package jnvdocker.lease;

import jnvdocker.process.Processes;
import jnvdocker.use.GpuUses;

import java.io.IOException;
import java.nio.file.Path;
import java.time.InstantSource;

/** The parts that give out GPUs, put together: the registry on disk, and what works with it. */
public record LeaseParts(
        LeaseRegistry registry,
        Leases leases,
        ClaimVolumes volumes,
        Reconciler reconciler,
        ClaimPrune prune)
        implements AutoCloseable {

    /**
     * Where the parts find the world.
     *
     * @param state the folder of the registry and the claims
     * @param boot this boot's id
     * @param volumeDriver the name of our volume plugin
     * @param uses who uses GPUs, whoever gave them
     * @param policy what the lab allows
     */
    public record World(
            Path state,
            String boot,
            String volumeDriver,
            Processes processes,
            ContainerEngine engine,
            ClaimVolumes.Inventory inventory,
            GpuUses uses,
            Policy policy,
            InstantSource clock,
            Pace pace) {}

    /**
     * Opens the registry and brings it into line with this machine's processes, so that it may be
     * served.
     *
     * @throws RegistryException when it is of a newer version, or can't be opened
     */
    public static LeaseParts open(World world) throws IOException {
        LeaseRegistry registry = LeaseRegistry.open(world.state(), world.boot(), world.clock());
        try {
            ClaimFiles files = new ClaimFiles(world.state());
            Evidence evidence = new Evidence(world.processes(), world.boot());
            Strangers strangers = new Strangers(world.uses(), registry, evidence);
            LeaseEnder ender = new LeaseEnder(registry, evidence, world.engine(), world.pace());
            Reconciler reconciler =
                    new Reconciler(
                            registry,
                            files,
                            evidence,
                            ender,
                            world.engine(),
                            world.inventory(),
                            world.pace());
            reconciler.start();
            new LostTasks(registry, world.processes(), world.inventory()).restore();
            WaitingLine line = WaitingLine.open(registry, evidence, world.pace());
            Reservations reservations =
                    new Reservations(
                            registry,
                            files,
                            ender,
                            reconciler,
                            evidence,
                            line,
                            strangers,
                            world.policy(),
                            world.pace());
            return new LeaseParts(
                    registry,
                    new Leases(
                            registry,
                            reservations,
                            ender,
                            evidence,
                            line,
                            strangers,
                            world.policy(),
                            world.volumeDriver()),
                    new ClaimVolumes(
                            registry,
                            files,
                            evidence,
                            ender,
                            world.engine(),
                            reconciler,
                            world.inventory(),
                            strangers,
                            world.policy()),
                    reconciler,
                    new ClaimPrune(registry, files, evidence, ender, world.engine(), reconciler));
        } catch (IOException | RuntimeException | Error e) {
            registry.close();
            throw e;
        }
    }

    @Override
    public void close() throws IOException {
        registry.close();
    }
}
