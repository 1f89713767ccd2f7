package jnvdocker.mesos.agent;

import jnvdocker.host.Gpu;
import jnvdocker.labels.CudaVersion;
import jnvdocker.labels.DriverVersion;
import jnvdocker.lease.GpuStatus;
import jnvdocker.words.Quote;
import jnvdocker.words.ShellWord;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * The flags with which a Mesos agent of this host offers the GPUs that its tasks can get. The
 * administrator's own values are kept as they are: Mesos checks them.
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
    /** Mesos checks for its own GPU support then, which these flags leave out. */
    public static final String NO_DOCKER =
            "leave docker out of the agent's --containerizers: with it, an agent with these flags"
                    + " exits at startup on a host with NVML";

    /** An agent compares itself with what it was, and then exits. */
    public static final String FEWER =
            "an agent that offered more GPUs before does not start with fewer ('Incompatible agent"
                    + " info'); 'jnvdocker mesos flags --help' says what to do";

    public AgentFlags {
        remarks = List.copyOf(remarks);
    }

    /**
     * The administrator's request.
     *
     * @param resources the agent's resources without GPUs; may be empty
     * @param attributes the agent's other attributes, to which ours are added; empty for none at
     *     all
     * @param isolation the agent's isolators, to which those that GPUs need are added; empty when
     *     we choose
     * @param uuids whether GPUs are offered by name, so that tasks choose
     */
    public record Wanted(
            String resources,
            Optional<String> attributes,
            Optional<String> isolation,
            Path launcherDir,
            boolean uuids) {

        /** The defaults. */
        public static Wanted standard(Path launcherDir) {
            return new Wanted("", Optional.empty(), Optional.empty(), launcherDir, false);
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

    public static AgentFlags of(Wanted wanted, Facts host, MesosPolicy policy) {
        AgentIsolation isolation =
                AgentIsolation.of(wanted.isolation().orElse(AgentIsolation.STANDARD));
        AgentGpus gpus = AgentGpus.of(host.gpus(), policy::gives);
        List<String> remarks = new ArrayList<>();
        for (String id : policy.givesNothing(host.gpus().stream().map(GpuStatus::gpu).toList())) {
            remarks.add(
                    "mesos.gpus in "
                            + host.config()
                            + " names "
                            + Quote.quoted(id)
                            + ", which matches no GPU on this host; this host has "
                            + AgentGpus.indices(host.gpus()));
        }
        remarks.addAll(gpus.leftOut());
        if (!isolation.added().isEmpty()) {
            remarks.add(
                    "added to --isolation, because GPUs need it: "
                            + String.join(",", isolation.added()));
        }
        if (!gpus.leftOut().isEmpty()) {
            remarks.add(FEWER);
        }
        return new AgentFlags(
                resources(wanted, gpus.offered()),
                wanted.attributes()
                        .map(given ->
                                AgentAttributes.text(
                                        given, host.driver(), host.cuda(), gpus.offered())),
                isolation.toString(),
                wanted.launcherDir().toString(),
                remarks);
    }

    private static String resources(Wanted wanted, List<Gpu> offered) {
        String gpus =
                wanted.uuids() && !offered.isEmpty()
                        ? offered.stream()
                                .map(Gpu::uuid)
                                .collect(Collectors.joining(",", "gpu_uuids:{", "}"))
                        : "gpus:" + offered.size();
        String others = wanted.resources().strip();
        return others.isEmpty() ? gpus : others + (others.endsWith(";") ? "" : ";") + gpus;
    }

    /** One flag each, quoted for a shell where that is needed. */
    public List<String> lines() {
        List<String> lines = new ArrayList<>();
        lines.add("--resources=" + ShellWord.typed(resources));
        attributes.ifPresent(text -> lines.add("--attributes=" + ShellWord.typed(text)));
        lines.add("--isolation=" + ShellWord.typed(isolation));
        lines.add("--launcher_dir=" + ShellWord.typed(launcherDir));
        return List.copyOf(lines);
    }
}
