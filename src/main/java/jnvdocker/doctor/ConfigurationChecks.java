package jnvdocker.doctor;

import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.host.NoDriverException;
import jnvdocker.lease.GpuTime;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Subject;
import jnvdocker.lease.text.GpuText;
import jnvdocker.nvml.GpuHealth.Health;
import jnvdocker.posix.FileStatus;
import jnvdocker.posix.HostNames;
import jnvdocker.posix.NoAnswerException;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.FailedException;
import jnvdocker.words.Quote;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Compares the configuration with this host. */
public final class ConfigurationChecks {
    private static final HostNames NAMES = HostNames.ofThisHost();
    private static final Duration LATELY = Duration.ofDays(30);
    private static final int OTHERS_WRITE = 2;
    private final Doctor.Surroundings around;

    ConfigurationChecks(Doctor.Surroundings around) {
        this.around = around;
    }

    /** A mistake in the files that this daemon has not read, or not accepted. */
    void files(Findings found) throws IOException {
        try {
            around.configuration().examine();
        } catch (FailedException e) {
            found.wrong(e.refusal().precededBy("no daemon starts with the configuration: "));
        }
    }

    /** Cordoned and shareable GPUs in the configuration that this host does not have. */
    void cordon(Findings found) throws IOException {
        List<Gpu> gpus = HostDriver.read(around.host()).gpus();
        unknown("cordon", around.leases().rules().cordonsNothing(gpus), found);
        unknown("shareable", around.leases().rules().sharesNothing(gpus), found);
        silent(gpus, found);
        found.okIfNothingElse("every GPU under cordon in the configuration is present");
    }

    /** GPUs of which nobody gets a share, since NVML has never reported their memory. */
    private void silent(List<Gpu> gpus, Findings found) {
        Map<String, Health> known = around.health().all();
        String silent =
                gpus.stream()
                        .filter(around.leases().rules()::shares)
                        .filter(gpu ->
                                Optional.ofNullable(known.get(gpu.uuid()))
                                        .flatMap(Health::reportedAt)
                                        .isEmpty())
                        .map(GpuText::name)
                        .collect(Collectors.joining(", "));
        if (!silent.isEmpty()) {
            found.hint(
                    "nobody gets a share (shareable) of "
                            + silent
                            + ": NVML does not report the memory",
                    "'journalctl -u jnvdocker' says why; nvidia-smi uses NVML as well");
        }
    }

    /**
     * Finds the ids in the configuration that belong to no GPU of this host.
     *
     * @param key the key that lists them
     */
    static void unknown(String key, List<String> ids, Findings found) {
        if (!ids.isEmpty()) {
            found.wrong(
                    key
                            + " in the configuration lists "
                            + ids.stream().map(Quote::quoted).collect(Collectors.joining(", "))
                            + ", which "
                            + (ids.size() == 1 ? "matches" : "match")
                            + " no GPU on this host",
                    "correct that ('jnvdocker gpu ls' shows the GPUs), then run 'jnvdocker gpu"
                            + " reload'");
        }
    }

    /**
     * Finds the same. Another check says if there is no driver.
     *
     * @param givesNothing picks these ids, given the host's GPUs
     */
    public static void unknown(
            String key, Host host, Function<List<Gpu>, List<String>> givesNothing, Findings found)
            throws IOException {
        try {
            unknown(key, givesNothing.apply(HostDriver.read(host).gpus()), found);
        } catch (NoDriverException _) {
            // Another check says so.
        }
    }

    /** Limits in the configuration for users or groups that this host does not have. */
    void limits(Findings found) {
        List<String> unknown = new ArrayList<>();
        try {
            for (Subject subject : around.leases().rules().limits().subjects()) {
                if (!isKnown(subject)) {
                    unknown.add(Quote.shown(subject.spelled()));
                }
            }
        } catch (NoAnswerException e) {
            found.unknown("this host does not say which users and groups it has");
            return;
        }
        if (!unknown.isEmpty()) {
            found.hint(
                    "limits are for "
                            + String.join(", ", unknown)
                            + ", which this host does not have: they limit nobody",
                    "correct the names in [limits], then run 'jnvdocker gpu reload'");
        }
        found.okIfNothingElse("every user and group with limits exists");
    }

    /** A uid needs no name, and only the API server knows the namespaces of Kubernetes. */
    private static boolean isKnown(Subject subject) throws NoAnswerException {
        String name = subject.name();
        return switch (subject.kind()) {
            case EVERYBODY, UNKNOWN, NAMESPACES -> true;
            case GROUP -> NAMES.group(name).isPresent();
            case USER ->
                    name.startsWith(Owner.NAMESPACE)
                            || name.chars().allMatch(Character::isDigit)
                            || NAMES.user(name, HostNames.LONGEST).isPresent();
        };
    }

    /** Users that share this host's GPUs and get in each other's way. */
    void sharing(Findings found) throws IOException {
        int users = users();
        defaults(users, found);
        if (users > 1) {
            openNode(found);
        }
    }

    /** Unknown users may be the known ones: they count only where none is known. */
    private int users() throws IOException {
        Instant since = Instant.now().minus(LATELY);
        List<GpuTime.Use> uses = around.leases().gpuTime(since, Optional.empty()).users();
        long known = uses.stream().filter(use -> !use.owner().isUnknown()).count();
        return (int) Math.max(known, Math.min(1, uses.size()));
    }

    /** A node that every local user may open, in a container of an engine without root, too. */
    private void openNode(Findings found) throws IOException {
        for (Gpu gpu : HostDriver.read(around.host()).gpus()) {
            Path node = around.host().resolve(DeviceNodes.nameOf(gpu));
            if (Files.exists(node) && (FileStatus.of(node).mode() & OTHERS_WRITE) != 0) {
                found.hint(
                        "every local user may open "
                                + node
                                + ", and so use that GPU without a lease",
                        "if that is not wanted, load the driver with"
                                + " NVreg_DeviceFileGID=<gid> NVreg_DeviceFileMode=0660:"
                                + " see the manual's page about limits");
                return;
            }
        }
    }

    private void defaults(int users, Findings found) {
        String had =
                switch (users) {
                    case 0 -> "nobody has had GPUs";
                    case 1 -> "one user has had GPUs";
                    default -> users + " users have had GPUs";
                };
        String what = had + " in the last " + LATELY.toDays() + " days";
        if (users > 1 && around.defaultGpus().get() instanceof GpuRequest.All) {
            found.hint(
                    what + ", and without --gpus an image gets all of them",
                    "set default_gpus = \"1\" in the configuration, then run 'jnvdocker gpu"
                            + " reload'");
        } else {
            found.ok(what);
        }
    }
}
