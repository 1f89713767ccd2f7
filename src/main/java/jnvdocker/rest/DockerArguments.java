package jnvdocker.rest;

import com.fasterxml.jackson.annotation.JsonProperty;

import jnvdocker.container.ContainerPlanner;
import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.labels.DriverVersion;
import jnvdocker.request.GpuResolver;
import jnvdocker.volume.DriverVolume;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The arguments of docker that give a container GPUs, as {@code /docker/cli} returns them. A
 * container that is started with them takes no lease.
 */
record DockerArguments(
        @JsonProperty("VolumeDriver") String volumeDriver,
        @JsonProperty("Volumes") List<String> volumes,
        @JsonProperty("Devices") List<String> devices) {
    private static final String TOOLS = "/dev/nvidia-uvm-tools";

    /**
     * @param dev GPUs, separated by blanks: indices, or beginnings of UUIDs; empty or {@code *}
     *     means all
     * @param vol volumes, separated by blanks; empty or {@code *} means all
     * @throws RefusedException for one that is not there
     */
    static DockerArguments of(Host host, String volumeDriver, String dev, String vol)
            throws RefusedException, IOException {
        HostDriver driver = HostDriver.read(host);
        List<String> devices = new ArrayList<>(List.of("/dev/nvidiactl", "/dev/nvidia-uvm"));
        if (Files.exists(host.resolve(TOOLS))) {
            devices.add(TOOLS);
        }
        for (Gpu gpu : gpus(dev, driver.gpus())) {
            devices.addAll(DeviceNodes.namesOf(gpu));
        }
        return new DockerArguments(
                volumeDriver, volumes(vol, driver.version()), devices.stream().distinct().toList());
    }

    private static List<Gpu> gpus(String dev, List<Gpu> all) throws RefusedException {
        if (isAll(dev)) {
            return all.stream().filter(Gpu::isSound).toList();
        }
        List<Gpu> named = new ArrayList<>();
        for (String id : dev.split(" ", -1)) {
            for (Gpu gpu : GpuResolver.resolve(List.of(id), all)) {
                if (!gpu.isSound()) {
                    throw new RefusedException(
                            "invalid device: %s (%s)"
                                    .formatted(gpu.number(), gpu.trouble().orElseThrow().what()),
                            "name another GPU");
                }
                named.add(gpu);
            }
        }
        return named.stream().distinct().sorted(Gpu.ORDER).toList();
    }

    private static List<String> volumes(String vol, DriverVersion driver) throws RefusedException {
        String mount =
                "%s_%s:%s:ro"
                        .formatted(
                                DriverVolume.KIND,
                                driver.text(),
                                ContainerPlanner.DRIVER_DIRECTORY);
        if (isAll(vol)) {
            return List.of(mount);
        }
        List<String> mounts = new ArrayList<>();
        for (String name : vol.split(" ", -1)) {
            if (!name.equals(DriverVolume.KIND)) {
                throw new RefusedException(
                        "invalid volume: " + Quote.shown(name), "use " + DriverVolume.KIND);
            }
            mounts.add(mount);
        }
        return mounts;
    }

    private static boolean isAll(String names) {
        return names.isEmpty() || names.equals("*");
    }

    /** Returns them as a command line has them. */
    String line() {
        return Stream.of(
                        Stream.of("--volume-driver=" + volumeDriver),
                        volumes.stream().map(volume -> "--volume=" + volume),
                        devices.stream().map(device -> "--device=" + device))
                .flatMap(words -> words)
                .collect(Collectors.joining(" "));
    }
}
