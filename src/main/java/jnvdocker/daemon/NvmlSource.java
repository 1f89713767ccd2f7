package jnvdocker.daemon;

import jnvdocker.host.BootId;
import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.host.MigMemory;
import jnvdocker.host.NoDriverException;
import jnvdocker.labels.DriverVersion;
import jnvdocker.nvml.GpuFigures.Mig;
import jnvdocker.nvml.GpuHealth;
import jnvdocker.nvml.GpuMonitor;
import jnvdocker.volume.DriverVolumeStore;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The libnvidia-ml of the loaded driver, in the driver volume: its files are the host's own. */
final class NvmlSource implements GpuMonitor.Source {
    private final Host host;
    private final DriverVolumeStore volumes;

    NvmlSource(Host host, DriverVolumeStore volumes) {
        this.host = host;
        this.volumes = volumes;
    }

    /**
     * A monitor of the host's GPUs, which is not started yet.
     *
     * @param host is notified of MIG instances
     */
    static GpuMonitor monitor(Host host, Directories directories, DriverVolumeStore volumes)
            throws IOException {
        return new GpuMonitor(
                new NvmlSource(host, volumes),
                GpuMonitor.Pace.USUAL,
                GpuHealth.keptIn(directories.state().resolve("gpu-errors"), BootId.read(host)));
    }

    @Override
    public Optional<Path> library() throws IOException {
        DriverVersion driver;
        try {
            driver = HostDriver.readVersion(host);
        } catch (NoDriverException e) {
            return Optional.empty();
        }
        Path library = volumes.path(driver).resolve("lib64/libnvidia-ml.so.1");
        return Files.exists(library) ? Optional.of(library.toRealPath()) : Optional.empty();
    }

    @Override
    public List<Gpu> gpus() throws IOException {
        return HostDriver.read(host).gpus();
    }

    @Override
    public String load() throws IOException {
        return HostDriver.load(host);
    }

    @Override
    public boolean isAsleep(String pciAddress) {
        return HostDriver.isAsleep(host, pciAddress);
    }

    @Override
    public void report(String pciAddress, Mig mig) {
        List<MigMemory.Instance> instances =
                mig.instances().stream()
                        .map(instance ->
                                new MigMemory.Instance(
                                        instance.uuid(),
                                        instance.number(),
                                        instance.gpuInstance(),
                                        instance.computeInstance(),
                                        instance.model(),
                                        instance.slices()))
                        .toList();
        host.mig().report(pciAddress, new MigMemory.Mode(mig.enabled(), instances));
    }
}
