package jnvdocker.mesos.launch;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.start.NeedsCheck;
import jnvdocker.container.Allocation;
import jnvdocker.container.ContainerEdits;
import jnvdocker.container.ContainerPlanner;
import jnvdocker.container.UserSettings;
import jnvdocker.container.VolumeMount;
import jnvdocker.host.HostDriver;
import jnvdocker.labels.GpuNeeds;
import jnvdocker.labels.ImageConfig;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.Processes;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.volume.GpuHost;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * {@code mesos launch}: an agent is about to launch a container with GPUs, and our {@code
 * mesos-containerizer} requests instructions. Leads straight from the agent's files to the launch
 * info for the agent's own helper.
 */
public final class MesosLaunch {
    public static final String WORD = "launch";
    private static final Logger LOG = LoggerFactory.getLogger(MesosLaunch.class);

    /** The variable in which {@code mesos-containerizer} names the program for the helper. */
    private static final String PRESTART = "JNVDOCKER_PRESTART";

    private static final String VISIBLE = "NVIDIA_VISIBLE_DEVICES";

    /** Set by Marathon and other frameworks. */
    private static final String TASK_ID = "MESOS_TASK_ID";

    private static final ImageConfig NO_IMAGE = new ImageConfig(Map.of(), Map.of());

    private final GpuHost gpuHost;
    private final NeedsCheck needsCheck;
    private final ContainerPlanner planner;
    private final MesosClaims claims;
    private final Processes processes = Processes.ofThisMachine();

    public MesosLaunch(
            GpuHost gpuHost, NeedsCheck needsCheck, ContainerPlanner planner, MesosClaims claims) {
        this.gpuHost = gpuHost;
        this.needsCheck = needsCheck;
        this.planner = planner;
        this.claims = claims;
    }

    /**
     * @param words the last two are the agent's directory of the container, and the launch info
     */
    public void run(List<String> words, ClientRequest request, ClientConnection client)
            throws IOException, RefusedException {
        refuseOthersThanAgents(request);
        refuseUnless(words.size() == 3);
        String prestart = request.variable(PRESTART);
        refuseUnless(prestart.startsWith("/"));
        LaunchInfo info = LaunchInfo.parse(words.get(2));
        try {
            RuntimeDirectory directory = RuntimeDirectory.of(words.get(1));
            edit(info, directory, prestart, Caller.process(request), client);
        } catch (RefusedException e) {
            claims.refused(words.get(1), e);
            info = refused(words, prestart, e.getMessage());
        } catch (IOException e) {
            LOG.warn("{} is not launched: {}", Quote.shown(words.get(1)), FileErrors.describe(e));
            info = refused(words, prestart, FileErrors.describe(e));
        }
        client.print(info.toString());
        client.exit(ExitCode.OK);
    }

    /** Agents run as root, and no other user may reserve GPUs for their containers. */
    static void refuseOthersThanAgents(ClientRequest request) throws RefusedException {
        if (!Caller.isRoot(request)) {
            throw new RefusedException(
                    "only root may launch the containers of a Mesos agent",
                    "start the agent as root");
        }
    }

    static void refuseUnless(boolean wellFormed) throws RefusedException {
        if (!wellFormed) {
            throw new RefusedException(
                    "only mesos-containerizer runs 'mesos launch', 'launch-task' and"
                            + " 'launch-session'",
                    "use the commands that 'jnvdocker mesos --help' lists");
        }
    }

    /** The task's user reads the reason in the sandbox, since the agent does not pass it on. */
    private static LaunchInfo refused(List<String> words, String prestart, String reason)
            throws IOException {
        LaunchInfo info = LaunchInfo.parse(words.get(2));
        info.appendPreExecCommand(prestart, Prestart.refuse(reason));
        return info;
    }

    private void edit(
            LaunchInfo info,
            RuntimeDirectory directory,
            String prestart,
            ProcessId process,
            ClientConnection client)
            throws IOException, RefusedException {
        ContainerConfig config = directory.config();
        if (config.debug() || isExecutorOfGroups(info, directory, config)) {
            return;
        }
        GpuShare share = GpuShare.of(directory, config);
        ImageConfig image = config.image().orElse(NO_IMAGE);
        boolean driver = config.rootfs().isPresent() && wantsDriver(image, info, share);
        if (!share.hasGpus() && !driver) {
            return;
        }
        HostDriver loaded = gpuHost.inventory().read();
        Set<String> suited =
                driver
                        ? needsCheck.check(
                                GpuNeeds.withGpus(image, info.environment()),
                                share.request(),
                                loaded,
                                Optional::empty,
                                client)
                        : Set.of();
        TaskCgroups cgroups = TaskCgroups.of(process, directory, share.owner(), processes);
        Allocation allocation =
                share.hasGpus()
                        ? claims.claim(share, suited, taskId(info, share), cgroups, process, client)
                        : Allocation.NONE;
        TaskEnvironment environment = TaskEnvironment.of(info, config);
        ContainerEdits edits =
                planner.plan(
                        new ContainerPlanner.Container(
                                new ImageConfig(image.labels(), environment.variables()),
                                allocation,
                                settings(info, config),
                                loaded.version(),
                                ContainerPlanner.Visible.UUIDS));
        if (!driver) {
            edits = new ContainerEdits(edits.devices(), List.of(), Map.of(), Map.of());
        }
        environment.set(edits.environment());
        info.appendPreExecCommand(
                prestart,
                Prestart.apply(
                        edits,
                        config.rootfs(),
                        directories(edits, loaded, process),
                        cgroups.devices()));
    }

    /**
     * Returns the id of a task in a pod if its framework sets it; a launch names it nowhere else.
     */
    private static Optional<String> taskId(LaunchInfo info, GpuShare share) {
        return Optional.ofNullable(info.environment().get(TASK_ID))
                .filter(id -> !id.isBlank() && share.owner().isNested() && !share.isInherited());
    }

    /**
     * The GPUs of such an executor are the sum of its tasks' GPUs, and each task has its own
     * container.
     */
    private static boolean isExecutorOfGroups(
            LaunchInfo info, RuntimeDirectory directory, ContainerConfig config) {
        return !directory.isNested() && !config.commandTask() && info.isDefaultExecutor();
    }

    /** As in Mesos's own support, an image that says void gets the nodes, but no driver. */
    private static boolean wantsDriver(ImageConfig image, LaunchInfo info, GpuShare share)
            throws RefusedException {
        String visible = image.environment().get(VISIBLE);
        boolean declines = visible != null && (visible.isEmpty() || visible.equals("void"));
        return !declines && (share.hasGpus() || GpuNeeds.of(image, info.environment()).gpus());
    }

    /** Search paths set by the task's user are kept; ours are appended. */
    private static UserSettings settings(LaunchInfo info, ContainerConfig config) {
        Set<String> targets = config.rootfs().map(info::mountTargets).orElse(Set.of());
        return new UserSettings(Set.of(), targets, Set.of());
    }

    private Map<String, Path> directories(
            ContainerEdits edits, HostDriver driver, ProcessId process) throws IOException {
        Map<String, Path> directories = new HashMap<>();
        for (VolumeMount mount : edits.mounts()) {
            directories.put(mount.volume(), gpuHost.served(driver, process.pid()));
        }
        return directories;
    }
}
