package jnvdocker.doctor;

import jnvdocker.core.Leases;
import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.lease.GpuTime;
import jnvdocker.posix.FileStatus;
import jnvdocker.request.GpuRequest;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** Finds users and daemons that share this host's GPUs and get in each other's way. */
final class SharingCheck implements Check {
    private static final Duration LATELY = Duration.ofDays(30);
    private static final int OTHERS_WRITE = 2;
    private static final String MAIN = "jnvdocker.daemon.Main";
    private static final String HOST_ROOT = "JNVDOCKER_HOST_ROOT=";
    private static final int MAX_ENVIRONMENT = 1 << 17;

    private final Host host;
    private final Leases leases;
    private final Supplier<GpuRequest> defaultGpus;

    /**
     * @param defaultGpus the GPUs for an image that requests GPUs, if its user requests none
     */
    SharingCheck(Host host, Leases leases, Supplier<GpuRequest> defaultGpus) {
        this.host = host;
        this.leases = leases;
        this.defaultGpus = defaultGpus;
    }

    @Override
    public String name() {
        return "sharing";
    }

    @Override
    public List<Finding> findings() throws IOException {
        List<Finding> found = new ArrayList<>();
        int users = users();
        found.add(defaults(users));
        if (users > 1) {
            openNode().ifPresent(found::add);
        }
        otherDaemons().map(SharingCheck::other).forEach(found::add);
        return found;
    }

    /** Unknown users may be the known ones: they count only where none is known. */
    private int users() throws IOException {
        Instant since = Instant.now().minus(LATELY);
        List<GpuTime.Use> uses = leases.gpuTime(since, Optional.empty()).users();
        long known = uses.stream().filter(use -> !use.owner().isUnknown()).count();
        return (int) Math.max(known, Math.min(1, uses.size()));
    }

    /** A node that every local user may open, in a container of an engine without root, too. */
    private Optional<Finding> openNode() throws IOException {
        for (Gpu gpu : HostDriver.read(host).gpus()) {
            Path node = host.resolve(DeviceNodes.nameOf(gpu));
            if (Files.exists(node) && (FileStatus.of(node).mode() & OTHERS_WRITE) != 0) {
                return Optional.of(
                        Finding.hint(
                                "every local user may open "
                                        + node
                                        + ", and so use that GPU without a lease",
                                "if that is not wanted, load the driver with"
                                        + " NVreg_DeviceFileGID=<gid> NVreg_DeviceFileMode=0660:"
                                        + " see the manual's page about limits"));
            }
        }
        return Optional.empty();
    }

    private Finding defaults(int users) {
        String had =
                switch (users) {
                    case 0 -> "nobody has had GPUs";
                    case 1 -> "one user has had GPUs";
                    default -> users + " users have had GPUs";
                };
        String what = had + " in the last " + LATELY.toDays() + " days";
        return users > 1 && defaultGpus.get() instanceof GpuRequest.All
                ? Finding.hint(
                        what + ", and without --gpus an image gets all of them",
                        "set default_gpus = \"1\" in the configuration, then run 'jnvdocker gpu"
                                + " reload'")
                : Finding.ok(what);
    }

    private Stream<Long> otherDaemons() {
        long self = ProcessHandle.current().pid();
        return ProcessHandle.allProcesses()
                .filter(process -> process.pid() != self && isDaemon(process.info()))
                .map(ProcessHandle::pid)
                .filter(this::isOfThisHost)
                .sorted();
    }

    /** A daemon that root does not run gives out no GPUs. */
    private static boolean isDaemon(ProcessHandle.Info process) {
        return process.user().filter("root"::equals).isPresent()
                && process.arguments().filter(all -> Arrays.asList(all).contains(MAIN)).isPresent();
    }

    /** A daemon with another root gives out the GPUs of that root. */
    private boolean isOfThisHost(long pid) {
        Path file = Path.of("/proc", Long.toString(pid), "environ");
        try (var environment = Files.newInputStream(file)) {
            byte[] bytes = environment.readNBytes(MAX_ENVIRONMENT);
            String root =
                    Stream.of(new String(bytes, StandardCharsets.UTF_8).split("\0"))
                            .filter(variable -> variable.startsWith(HOST_ROOT))
                            .map(variable -> variable.substring(HOST_ROOT.length()))
                            .findFirst()
                            .orElse("/");
            return host.root().equals(Host.at(Path.of(root)).root());
        } catch (IOException e) {
            return false; // it has just ended
        }
    }

    private static Finding other(long pid) {
        return Finding.hint(
                "another jnvdockerd (pid "
                        + pid
                        + ") gives out this host's GPUs, too: each daemon learns of the other's"
                        + " leases only from running containers",
                "cordon the other's GPUs in each configuration");
    }
}
