package jnvdocker.kubernetes;

import jnvdocker.container.ContainerPlanner;
import jnvdocker.holder.Periodic;
import jnvdocker.host.DeviceNode;
import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.host.HostDriver;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.WholeFile;
import jnvdocker.request.GpuRequest;
import jnvdocker.volume.GpuHost;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * What pods get with their GPUs: the nodes, and the driver's files at a path that stays the same
 * whatever the driver, since a kubelet keeps the first answer for a container. A separate thread
 * checks the driver and the GPUs, and keeps the path and the CDI file up to date.
 *
 * <pre>
 * RUN/driver -> volumes/nvidia_driver/535.104.05, or where the loaded driver's files are served
 * </pre>
 */
public final class PodInjection implements PodEdits, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PodInjection.class);
    private static final Duration PERIOD = Duration.ofSeconds(5);

    private final GpuHost gpuHost;
    private final Supplier<KubernetesPolicy> policy;
    private final Path link;
    private final PodCdiFile cdi;
    private final CountDownLatch scanned = new CountDownLatch(1);
    private final Periodic thread = new Periodic("pods", PERIOD, this::keep);
    private boolean served = true;
    private volatile Ready ready =
            Ready.not(new Refusal("jnvdockerd has just started", "try again"));
    private String complaint = "";
    private boolean withdrawn;

    /**
     * What is there for pods.
     *
     * @param obstacle why nothing is
     * @param dev the directory of the nodes
     * @param control the nodes of every container with a GPU
     * @param offered the UUIDs of the devices in the CDI file
     * @param fault what is wrong with that file, which pods can do without
     */
    private record Ready(
            Optional<Refusal> obstacle,
            Path dev,
            List<DeviceNode> control,
            Set<String> offered,
            Optional<Refusal> fault) {
        static Ready not(Refusal obstacle) {
            return new Ready(
                    Optional.of(obstacle), Path.of("/dev"), List.of(), Set.of(), Optional.empty());
        }
    }

    /**
     * @param policy whether there are pods here, and whether they get CDI devices
     * @param run the daemon's directory, which has the path to the driver's files
     * @param cdiDirectory where runtimes search for CDI files
     */
    public PodInjection(
            GpuHost gpuHost, Supplier<KubernetesPolicy> policy, Path run, Path cdiDirectory) {
        this.gpuHost = gpuHost;
        this.policy = policy;
        this.link = driver(run);
        this.cdi = new PodCdiFile(cdiDirectory, link);
    }

    /** The path of the driver's files in a daemon's directory. */
    public static Path driver(Path run) {
        return run.resolve("driver");
    }

    /** Keeps all of it from now on. */
    public PodInjection start() {
        thread.start();
        return this;
    }

    /** Waits for the end of the first scan, so that no pod comes too early. */
    public void awaitFirstScan(Duration patience) throws InterruptedException {
        if (!scanned.await(patience.toMillis(), TimeUnit.MILLISECONDS)) {
            LOG.warn("the driver's files for pods are not ready yet");
        }
    }

    @Override
    public void close() {
        thread.end(Duration.ZERO);
    }

    @Override
    public DeviceEdits of(List<Gpu> gpus) throws RefusedException {
        Ready now = ready;
        if (now.obstacle().isPresent()) {
            throw new RefusedException(
                    now.obstacle().get().precededBy("there are no driver's files for pods: "));
        }
        Map<String, DeviceEdits.Node> nodes = new LinkedHashMap<>();
        for (DeviceNode node : now.control()) {
            nodes.put(node.name(), new DeviceEdits.Node(node.hostPath().toString(), node.name()));
        }
        List<String> names = new ArrayList<>();
        for (Gpu gpu : gpus) {
            refuseUnlessKnown(gpu);
            for (String name : DeviceNodes.namesOf(gpu)) {
                String place = now.dev().resolve(name.substring("/dev/".length())).toString();
                nodes.put(name, new DeviceEdits.Node(place, name));
            }
            if (now.offered().contains(gpu.uuid())) {
                names.add(PodCdiFile.device(gpu.uuid()));
            }
        }
        return new DeviceEdits(
                List.copyOf(nodes.values()),
                List.of(new DeviceEdits.Mount(link.toString(), ContainerPlanner.DRIVER_DIRECTORY)),
                Map.of(GpuRequest.VISIBLE_DEVICES, GpuRequest.VOID),
                names);
    }

    private static void refuseUnlessKnown(Gpu gpu) throws RefusedException {
        if (!gpu.isIdentified()) {
            throw new RefusedException(
                    "GPU " + gpu.number() + " has no node", "see 'jnvdocker gpu doctor'");
        }
    }

    /** Why pods get nothing; empty if they do. */
    public Optional<Refusal> obstacle() {
        return ready.obstacle();
    }

    /** Returns the fault of the CDI file; empty if there is none. */
    public Optional<Refusal> cdiFault() {
        return ready.fault();
    }

    /** The path of the CDI file; empty if pods get no CDI devices. */
    public Optional<Path> cdiFile() {
        return policy.get().cdi() ? Optional.of(cdi.path()) : Optional.empty();
    }

    /** Takes away all that pods would get, until {@link #resume}; those that have it keep it. */
    public synchronized void remove() throws IOException {
        withdrawn = true;
        ready = Ready.not(new Refusal("jnvdocker is being removed", "install it again"));
        cdi.remove();
        Files.deleteIfExists(link);
    }

    /** Gives it to them again. */
    public synchronized void resume() {
        withdrawn = false;
    }

    private void keep() {
        boolean is = policy.get().enabled();
        if (is) {
            check();
        } else if (served) {
            leave();
        }
        served = is;
        scanned.countDown();
    }

    private void leave() {
        ready = Ready.not(new Refusal("there are no pods here", "set enabled below [kubernetes]"));
        removeCdiFile();
    }

    private void removeCdiFile() {
        try {
            if (cdi.remove()) {
                LOG.info("removed {}, since no pod gets its devices any more", cdi.path());
            }
        } catch (IOException e) {
            LOG.warn("{} stays: {}", cdi.path(), FileErrors.describe(e));
        }
    }

    /** Checks the driver and the GPUs once. */
    synchronized void check() {
        if (withdrawn) {
            return;
        }
        try {
            ready = prepare();
        } catch (IOException e) {
            if (Thread.currentThread().isInterrupted()) {
                return;
            }
            ready = Ready.not(FileErrors.refusal(e));
        } catch (RuntimeException e) {
            LOG.error("cannot prepare the driver's files for pods", e);
            ready = Ready.not(new Refusal("jnvdockerd failed to prepare them", "see its log"));
        }
        complain(ready.obstacle().or(ready::fault).map(Refusal::message).orElse(""));
    }

    private void complain(String now) {
        if (!now.isEmpty() && !now.equals(complaint)) {
            LOG.warn("pods: {}", now);
        }
        complaint = now;
    }

    private Ready prepare() throws IOException {
        HostDriver driver = gpuHost.inventory().read();
        lead(driver);
        List<DeviceNode> control = gpuHost.nodes().control();
        Map<String, List<DeviceNode>> gpus = new LinkedHashMap<>();
        for (Gpu gpu : driver.gpus()) {
            List<DeviceNode> nodes = nodes(gpu);
            if (!nodes.isEmpty() && PodCdiFile.isDevice(gpu.uuid())) {
                gpus.put(gpu.uuid(), nodes);
            }
        }
        Path dev = gpuHost.host().resolve("/dev");
        if (!policy.get().cdi()) {
            removeCdiFile();
            return new Ready(Optional.empty(), dev, control, Set.of(), Optional.empty());
        }
        Optional<Refusal> fault = write(control, gpus);
        Set<String> offered = fault.isPresent() ? Set.of() : Set.copyOf(gpus.keySet());
        return new Ready(Optional.empty(), dev, control, offered, fault);
    }

    /** None for a GPU that has none: the others must not suffer. */
    private List<DeviceNode> nodes(Gpu gpu) {
        try {
            return gpu.isIdentified() ? gpuHost.nodes().allOf(gpu) : List.of();
        } catch (IOException e) {
            LOG.debug("GPU {} has no nodes for pods", gpu.number(), e);
            return List.of();
        }
    }

    /** Leads the path to the loaded driver's files. */
    private void lead(HostDriver driver) throws IOException {
        gpuHost.served().prepare(gpuHost.host(), driver.version());
        Path target =
                gpuHost.served()
                        .known(gpuHost.store().build(gpuHost.host(), driver.version()))
                        .path();
        if (Files.isSymbolicLink(link) && Files.readSymbolicLink(link).equals(target)) {
            return;
        }
        if (Files.isDirectory(link, LinkOption.NOFOLLOW_LINKS)) {
            // Made by a runtime that was to mount it when it was not there yet.
            Files.delete(link);
        }
        WholeFile.link(link, target);
        LOG.info("pods get the driver's files from {}", target);
    }

    private Optional<Refusal> write(List<DeviceNode> control, Map<String, List<DeviceNode>> gpus) {
        try {
            if (cdi.write(control, gpus)) {
                LOG.info("{} offers what is there now", cdi.path());
            }
            return Optional.empty();
        } catch (RefusedException e) {
            return Optional.of(e.refusal());
        } catch (IOException e) {
            return Optional.of(FileErrors.refusal(e));
        }
    }
}
