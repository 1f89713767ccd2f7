package jnvdocker.mesos;

import jnvdocker.command.caller.OwnCommands;
import jnvdocker.config.ConfigTable;
import jnvdocker.doctor.Check;
import jnvdocker.feature.Core;
import jnvdocker.feature.Feature;
import jnvdocker.holder.HolderKind;
import jnvdocker.mesos.agent.AgentHost;
import jnvdocker.mesos.agent.InstalledDirectories;
import jnvdocker.mesos.agent.MesosCheck;
import jnvdocker.mesos.agent.MesosPolicy;
import jnvdocker.mesos.launch.MesosClaims;
import jnvdocker.mesos.launch.MesosKind;
import jnvdocker.mesos.launch.MesosLaunch;
import jnvdocker.mesos.launch.MesosTaskLaunch;
import jnvdocker.process.Processes;
import jnvdocker.volume.GpuHost;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Path;
import java.util.function.Supplier;

/** Tasks of Mesos get GPUs: an agent's hook asks for them, and is answered by commands. */
public final class MesosFeature implements Feature {
    private final MesosKind kind;

    public MesosFeature(Processes processes) {
        kind = new MesosKind(processes);
    }

    @Override
    public ConfigTable<?> table() {
        return MesosPolicy.TABLE;
    }

    @Override
    public HolderKind kind() {
        return kind;
    }

    @Override
    public Running start(Core core) {
        GpuHost gpus = core.gpuHost();
        Supplier<MesosPolicy> policy = () -> core.config().get(MesosPolicy.TABLE);
        MesosCommand commands =
                new MesosCommand(
                        new AgentHost(
                                gpus.inventory(),
                                core.cuda(),
                                core.leases().leases(),
                                policy,
                                core.installation().config()),
                        core.installation(),
                        core.places().socket(),
                        new MesosLaunch(
                                gpus,
                                core.needs(),
                                core.planner(),
                                new MesosClaims(core.leases().leases(), policy, gpus.inventory())),
                        new MesosTaskLaunch(gpus.served()));
        Thread.ofVirtual().start(commands::refresh);
        Path state = core.installation().state();
        return new Served(commands, new MesosCheck(gpus.host(), policy, state), state);
    }

    /**
     * It has no thread: an agent's hook is a client.
     *
     * @param state the directory in which {@code mesos install} keeps its settings
     */
    private record Served(OwnCommands commands, MesosCheck agents, Path state) implements Running {
        @Override
        public Check check() {
            return new Check("mesos", agents::findings);
        }

        @Override
        public boolean needsNoDocker(boolean docker) throws IOException, RefusedException {
            return !docker && InstalledDirectories.read(state).isPresent();
        }
    }
}
