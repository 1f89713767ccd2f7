package jnvdocker.mesos.agent;

import jnvdocker.host.Gpu;
import jnvdocker.labels.CudaVersion;
import jnvdocker.labels.DriverVersion;
import jnvdocker.lease.GpuStatus;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * The flags that a Mesos agent of this host needs, so that it offers the GPUs that its tasks can
 * get. Wrong combinations are refused in the words of Mesos' own GPU support.
 *
 * @param remarks what was decided against expectation, for people
 */
public record AgentFlags(
        String resources,
        String attributes,
        String isolation,
        String launcherDir,
        List<String> remarks) {
    /** Before Mesos' own words, which begin like sentences. */
    static final String INVALID = "invalid agent flags: ";

    public AgentFlags {
        remarks = List.copyOf(remarks);
    }

    /**
     * What an administrator wants.
     *
     * @param resources of the agent besides GPUs, or with their number; may be empty
     * @param devices the value of {@code --nvidia_gpu_devices}; empty when any GPU will do
     * @param isolation the isolators that the agent has; empty when we choose
     * @param uuids whether GPUs are offered by name, so that tasks choose
     */
    public record Wanted(
            String resources,
            Optional<String> devices,
            Optional<String> isolation,
            Path launcherDir,
            boolean uuids) {

        /** Whatever is usual. */
        public static Wanted standard(Path launcherDir) {
            return new Wanted("", Optional.empty(), Optional.empty(), launcherDir, false);
        }
    }

    /**
     * The agent's host.
     *
     * @param gpus all of them
     * @param config where the lab's policy is written, for messages
     */
    public record Facts(
            DriverVersion driver, Optional<CudaVersion> cuda, List<GpuStatus> gpus, Path config) {}

    /**
     * @throws RefusedException when what is wanted can't be, or this host has it not
     */
    public static AgentFlags of(Wanted wanted, Facts host, MesosPolicy policy)
            throws RefusedException {
        AgentResources resources = AgentResources.parse(wanted.resources());
        AgentIsolation isolation =
                AgentIsolation.of(wanted.isolation().orElse(AgentIsolation.STANDARD));
        List<String> remarks = new ArrayList<>();
        AgentGpus gpus = choose(wanted, resources, host, policy, remarks);
        if (!isolation.added().isEmpty()) {
            remarks.add(
                    "added to --isolation, for GPUs need them: "
                            + String.join(",", isolation.added()));
        }
        return new AgentFlags(
                resources(wanted, resources, gpus).toString(),
                AgentAttributes.text(host.driver(), host.cuda(), gpus.offered()),
                isolation.toString(),
                wanted.launcherDir().toString(),
                remarks);
    }

    private static AgentGpus choose(
            Wanted wanted,
            AgentResources resources,
            Facts host,
            MesosPolicy policy,
            List<String> remarks)
            throws RefusedException {
        List<Gpu> present = AgentGpus.present(host.gpus());
        if (wanted.devices().isPresent()) {
            List<Integer> devices = AgentGpus.parseDevices(wanted.devices().get());
            checkListed(devices, resources, present);
            AgentGpus gpus = AgentGpus.of(host.gpus(), gpu -> devices.contains(gpu.index()));
            remarks.addAll(gpus.leftOut());
            remarks.addAll(limit(gpu -> devices.contains(gpu.index()), present, policy, host));
            return gpus;
        }
        for (String id : policy.givesNothing(host.gpus().stream().map(GpuStatus::gpu).toList())) {
            remarks.add(
                    "mesos_gpus in "
                            + host.config()
                            + " names "
                            + Quote.quoted(id)
                            + ", which is no GPU of this host; this host has "
                            + AgentGpus.indices(present));
        }
        if (resources.saysGpus() && resources.gpus() == 0) {
            return new AgentGpus(List.of(), List.of());
        }
        AgentGpus gpus = AgentGpus.of(host.gpus(), policy::gives);
        remarks.addAll(gpus.leftOut());
        checkCounted(resources, gpus, present);
        return gpus;
    }

    private static void checkListed(
            List<Integer> devices, AgentResources resources, List<Gpu> present)
            throws RefusedException {
        if (!resources.saysGpus()) {
            throw new RefusedException(
                    INVALID
                            + "'--nvidia_gpus_devices' cannot be set without also setting 'gpus' in"
                            + " '--resources'",
                    "add gpus:" + devices.size() + " to it");
        }
        int count = resources.gpus();
        if (count == 0) {
            throw new RefusedException(
                    INVALID
                            + "'--nvidia_gpus_devices' cannot be specified when '--resources'"
                            + " specifies 0 GPUs",
                    "leave one of them out, or write gpus:" + devices.size());
        }
        AgentGpus.check(devices, count, present);
    }

    /** Without a list, what the resources say must be what there is to offer. */
    private static void checkCounted(AgentResources resources, AgentGpus gpus, List<Gpu> present)
            throws RefusedException {
        if (!resources.saysGpus()) {
            return;
        }
        AgentGpus.checkCount(resources.gpus(), present);
        if (resources.gpus() != gpus.offered().size()) {
            throw new RefusedException(
                    INVALID
                            + "The `gpus` resource cannot be set without also setting"
                            + " `--nvidia_gpu_devices`",
                    "say which "
                            + resources.gpus()
                            + " of the GPUs that can be offered ("
                            + AgentGpus.indices(gpus.offered())
                            + "), or leave gpus out for all of these");
        }
    }

    /** What to write into the configuration, so that tasks get these GPUs and no others. */
    private static List<String> limit(
            Predicate<Gpu> listed, List<Gpu> present, MesosPolicy policy, Facts host) {
        if (present.stream().allMatch(gpu -> listed.test(gpu) == policy.gives(gpu))) {
            return List.of();
        }
        String ids =
                present.stream()
                        .filter(listed)
                        .map(gpu -> '"' + (gpu.hasUuid() ? gpu.uuid() : gpu.pciAddress()) + '"')
                        .collect(Collectors.joining(", "));
        return List.of(
                "so that Mesos tasks get these GPUs and no others, put this line into "
                        + host.config()
                        + " and restart jnvdockerd: mesos_gpus = ["
                        + ids
                        + "]");
    }

    private static AgentResources resources(Wanted wanted, AgentResources resources, AgentGpus gpus)
            throws RefusedException {
        int count = gpus.offered().size();
        if (resources.sharesGpus()) {
            if (wanted.uuids() || resources.gpus() != count) {
                throw new RefusedException(
                        "gpus are given to several roles in --resources, and which role is to have "
                                + (wanted.uuids() ? "which GPU" : "fewer")
                                + " can't be known",
                        "write them for one role here, and share the result out by hand");
            }
            return resources;
        }
        return wanted.uuids() && count > 0
                ? resources.withUuids(gpus.offered().stream().map(Gpu::uuid).toList())
                : resources.withGpus(count);
    }

    /** One flag each, quoted for a shell where that is needed. */
    public List<String> lines() {
        return List.of(
                "--resources=" + word(resources),
                "--attributes=" + word(attributes),
                "--isolation=" + word(isolation),
                "--launcher_dir=" + word(launcherDir));
    }

    private static String word(String value) {
        return value.matches("[a-zA-Z0-9_./:,@%+=-]*")
                ? value
                : "'" + value.replace("'", "'\\''") + "'";
    }
}
