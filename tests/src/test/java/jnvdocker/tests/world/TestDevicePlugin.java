package jnvdocker.tests.world;

import jnvdocker.kubernetes.Device;
import jnvdocker.kubernetes.DeviceEdits;
import jnvdocker.kubernetes.DevicePlugin;
import jnvdocker.words.RefusedException;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;

/** A device plugin of a few names, of which a test says how they are. */
public final class TestDevicePlugin implements DevicePlugin {
    private final List<Runnable> listeners = new CopyOnWriteArrayList<>();
    private final List<Duration> patiences = new CopyOnWriteArrayList<>();
    private volatile List<Device> devices;
    private volatile Set<String> parents = Set.of();
    private volatile Optional<String> holder = Optional.empty();
    private volatile Duration start = Duration.ZERO;
    private volatile Runnable meanwhile = () -> {};

    /** All healthy. */
    public TestDevicePlugin(Set<String> ids) {
        devices = with(ids, ids);
    }

    private static List<Device> with(Set<String> ids, Set<String> healthy) {
        return new TreeSet<>(ids)
                .stream()
                        .map(id -> new Device(id, healthy.contains(id), OptionalInt.empty()))
                        .toList();
    }

    /** From now on these are healthy, and the others are not. */
    public void healthy(Set<String> healthy) {
        Set<String> ids = new TreeSet<>();
        devices.forEach(it -> ids.add(it.id()));
        list(ids, healthy);
    }

    /** From now on these are the devices. */
    public synchronized void list(Set<String> ids, Set<String> healthy) {
        devices = with(ids, healthy);
        listeners.forEach(Runnable::run);
    }

    /** The devices are instances of these GPUs. */
    public void instancesOf(Set<String> parents) {
        this.parents = parents;
    }

    @Override
    public Set<String> uuids() {
        Set<String> uuids = new TreeSet<>(parents);
        devices.forEach(it -> uuids.add(it.id()));
        return uuids;
    }

    /** From now on another holds all devices, or nobody does. */
    public void heldBy(Optional<String> holder) {
        this.holder = holder;
    }

    /** Happens during each allocation. */
    public void whileAllocating(Runnable meanwhile) {
        this.meanwhile = meanwhile;
    }

    /** How long each start takes. */
    public void startTakes(Duration time) {
        start = time;
    }

    /** The patience of each start. */
    public List<Duration> patiences() {
        return List.copyOf(patiences);
    }

    @Override
    public List<Device> devices() {
        return devices;
    }

    @Override
    public Watch watch(Runnable listener) {
        listeners.add(listener);
        return () -> listeners.remove(listener);
    }

    @Override
    public List<String> preferred(List<String> available, List<String> included, int size) {
        List<String> sorted = new ArrayList<>(new TreeSet<>(available));
        return sorted.subList(0, Math.min(size, sorted.size()));
    }

    @Override
    public DeviceEdits allocate(List<String> ids) throws RefusedException {
        refuseHeld(ids);
        meanwhile.run();
        return new DeviceEdits(
                ids.stream().map(id -> new DeviceEdits.Node("/dev/" + id, "/dev/" + id)).toList(),
                List.of(new DeviceEdits.Mount("/driver", "/usr/local/nvidia")),
                Map.of("NVIDIA_VISIBLE_DEVICES", "void"),
                ids.stream().map(id -> "pod.jnvdocker/gpu=" + id).toList());
    }

    @Override
    public void start(List<String> ids, Duration patience) throws RefusedException {
        patiences.add(patience);
        try {
            Thread.sleep(start);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        refuseHeld(ids);
    }

    private void refuseHeld(List<String> ids) throws RefusedException {
        if (holder.isPresent()) {
            throw new RefusedException(
                    String.join(", ", ids) + " is held by " + holder.get(), "wait until it ends");
        }
    }
}
