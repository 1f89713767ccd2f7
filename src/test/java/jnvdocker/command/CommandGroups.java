package jnvdocker.command;

import jnvdocker.command.caller.Installation;
import jnvdocker.command.caller.OwnCommands;
import jnvdocker.command.gpu.GpuCommand;
import jnvdocker.command.gpu.view.GpuSettings;
import jnvdocker.command.gpu.view.GpuView;
import jnvdocker.command.job.JobCommands;
import jnvdocker.command.runtime.RuntimeCommand;
import jnvdocker.kubernetes.node.K8sCommand;
import jnvdocker.mesos.MesosCommand;
import jnvdocker.posix.Peer;
import jnvdocker.process.Processes;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.volume.GpuHost;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Our own commands as they are parsed, without a daemon behind them. */
public final class CommandGroups {
    public static final ClientRequest REQUEST =
            new ClientRequest(
                    new Peer((int) ProcessHandle.current().pid(), 1000),
                    Processes.ofThisMachine().find((int) ProcessHandle.current().pid()),
                    new ClientRequest.Terminals(false, false, false),
                    false,
                    0,
                    "/",
                    List.of("docker"),
                    List.of(),
                    Map.of());

    private static final Installation INSTALLATION =
            new Installation(
                    false,
                    Path.of("/opt/jnvdocker"),
                    Path.of("/etc/jnvdocker/config.toml"),
                    Path.of("/var/lib/jnvdocker"),
                    Path.of("/var/cache/jnvdocker"),
                    () -> {});

    /** The commands are only inspected, so they need nothing. */
    public static final Map<String, OwnCommands> ALL =
            new TreeMap<>(
                    Stream.of(
                                    new GpuCommand(
                                            new GpuHost(null, null, null, null, null),
                                            null,
                                            null,
                                            new GpuView(
                                                    null, null, Map::of, Map::of, _ -> List.of()),
                                            new GpuCommand.Upkeep(
                                                    null, null, null, INSTALLATION, null),
                                            new GpuSettings(
                                                    Optional::empty, List::of, () -> false, null),
                                            new JobCommands(null)),
                                    new K8sCommand(null),
                                    new MesosCommand(null, INSTALLATION, null, null, null),
                                    new RuntimeCommand(null, null, null, null, null))
                            .collect(Collectors.toMap(OwnCommands::name, it -> it)));

    private CommandGroups() {}
}
