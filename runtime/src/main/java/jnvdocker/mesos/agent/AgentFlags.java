package jnvdocker.mesos.agent;

import jnvdocker.host.Gpu;
import jnvdocker.labels.CudaVersion;
import jnvdocker.labels.DriverVersion;
import jnvdocker.lease.GpuStatus;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;
import jnvdocker.words.ShellWord;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * The flags with which a Mesos agent of this host offers the GPUs that its tasks can get. Wrong
 * combinations are refused in the words of Mesos' own GPU support.
 *
 * @param attributes empty unless they were requested: an agent with changed attributes does not
 *     start again
 * @param remarks for people: what they may not expect
 */
public record AgentFlags(
        String resources,
        Optional<String> attributes,
        String isolation,
        String launcherDir,
        List<String> remarks) {
    /** Precedes Mesos' own words, which begin like sentences. */
    static final String INVALID = "invalid agent flags: ";

    /** Mesos checks for its own GPU support then, which these flags leave out. */
    public static final String NO_DOCKER =
            "leave docker out of the agent's --containerizers: with it, an agent with these flags"
                    + " exits at startup on a host with NVML";

    /** An agent compares itself with what it was, and then exits. */
    public static final String FEWER =
            "an agent that offered more GPUs before does not start with fewer ('Incompatible agent"
                    + " info'); 'jnvdocker mesos flags --help' says what to do";

    private static final String DOCKER = "docker";

    public AgentFlags {
        remarks = List.copyOf(remarks);
    }

    /**
     * The administrator's request.
     *
     * @param resources the agent's resources without GPUs, or with their number; may be empty
     * @param devices the value of {@code --nvidia_gpu_devices}; empty when any GPU will do
     * @param attributes the agent's other attributes, to which ours are added; empty for none at
     *     all
     * @param isolation the agent's isolators; empty when we choose
     * @param containerizers the agent's containerizers; empty when it is not known
     * @param uuids whether GPUs are offered by name, so that tasks choose
     */
    public record Wanted(
            String resources,
            Optional<String> devices,
            Optional<String> attributes,
            Optional<String> isolation,
            Optional<String> containerizers,
            Path launcherDir,
            boolean uuids) {

        /** The defaults. */
        public static Wanted standard(Path launcherDir) {
            return new Wanted(
                    "",
                    Optional.empty(),
                    Optional.empty(),
                    Optional.empty(),
                    Optional.of("mesos"),
                    launcherDir,
                    false);
        }
    }

    /**
     * The agent's host.
     *
     * @param gpus all of them
     * @param config the configuration file, for messages
     */
    public record Facts(
            DriverVersion driver, Optional<CudaVersion> cuda, List<GpuStatus> gpus, Path config) {}

    /**
     * @throws RefusedException when the options contradict each other or this host
     */
    public static AgentFlags of(Wanted wanted, Facts host, MesosPolicy policy)
            throws RefusedException {
        AgentResources resources = AgentResources.parse(wanted.resources());
        AgentIsolation isolation =
                AgentIsolation.of(wanted.isolation().orElse(AgentIsolation.STANDARD));
        checkContainerizers(wanted.containerizers());
        List<String> remarks = new ArrayList<>();
        AgentGpus gpus = choose(wanted, resources, host, policy, remarks);
        if (!isolation.added().isEmpty()) {
            remarks.add(
                    "added to --isolation, because GPUs need it: "
                            + String.join(",", isolation.added()));
        }
        if (!gpus.leftOut().isEmpty()) {
            remarks.add(FEWER);
        }
        if (wanted.containerizers().isEmpty()) {
            remarks.add(NO_DOCKER);
        }
        return new AgentFlags(
                resources(wanted, resources, gpus).toString(),
                wanted.attributes()
                        .map(given ->
                                AgentAttributes.text(
                                        given, host.driver(), host.cuda(), gpus.offered())),
                isolation.toString(),
                wanted.launcherDir().toString(),
                remarks);
    }

    private static void checkContainerizers(Optional<String> given) throws RefusedException {
        if (given.isPresent() && List.of(given.get().strip().split("\\s*,\\s*")).contains(DOCKER)) {
            throw new RefusedException(
                    "an agent with the docker containerizer and these flags exits at startup on a"
                            + " host with NVML",
                    "leave docker out of --containerizers");
        }
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
                            + ", which matches no GPU on this host; this host has "
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

    /** Without a list, the number in the resources must be that of the GPUs to offer. */
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
                    "name "
                            + resources.gpus()
                            + " of the GPUs that can be offered ("
                            + AgentGpus.indices(gpus.offered())
                            + "), or leave gpus out to offer them all");
        }
    }

    /** The line for the configuration with which tasks get only these GPUs. */
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
                "to give Mesos tasks only these GPUs, put this line into "
                        + host.config()
                        + " and run 'jnvdocker gpu reload': mesos_gpus = ["
                        + ids
                        + "]");
    }

    private static AgentResources resources(Wanted wanted, AgentResources resources, AgentGpus gpus)
            throws RefusedException {
        int count = gpus.offered().size();
        if (resources.sharesGpus()) {
            if (wanted.uuids() || resources.gpus() != count) {
                throw new RefusedException(
                        "--resources has gpus for several roles, and jnvdocker cannot decide which"
                                + " role should get "
                                + (wanted.uuids() ? "which GPU" : "fewer"),
                        "write gpus for one role only, then divide the result by hand");
            }
            return resources;
        }
        return wanted.uuids() && count > 0
                ? resources.withUuids(gpus.offered().stream().map(Gpu::uuid).toList())
                : resources.withGpus(count);
    }

    /** One flag each, quoted for a shell where that is needed. */
    public List<String> lines() {
        List<String> lines = new ArrayList<>();
        lines.add("--resources=" + word(resources));
        attributes.ifPresent(text -> lines.add("--attributes=" + word(text)));
        lines.add("--isolation=" + word(isolation));
        lines.add("--launcher_dir=" + word(launcherDir));
        return List.copyOf(lines);
    }

    private static String word(String value) {
        return value.matches("[a-zA-Z0-9_./:,@%+=-]*") ? value : ShellWord.quoted(value);
    }
}
