package jnvdocker.kubernetes.node;

import jnvdocker.command.caller.CommandGroup;
import jnvdocker.command.caller.OwnCommands;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;

import picocli.CommandLine;
import picocli.CommandLine.Command;

import java.io.IOException;
import java.util.List;

/** {@code jnvdocker k8s …}: prints the labels of this node for Kubernetes. */
public final class K8sCommand implements OwnCommands {
    private final NodeFacts facts;

    public K8sCommand(NodeFacts facts) {
        this.facts = facts;
    }

    @Command(
            name = "jnvdocker k8s",
            description = "Label a Kubernetes node with its GPUs.",
            synopsisSubcommandLabel = "COMMAND")
    private static final class K8s extends CommandGroup.Root {}

    @Override
    public String name() {
        return "k8s";
    }

    @Override
    public void run(List<String> arguments, ClientRequest request, ClientConnection client)
            throws IOException {
        CommandGroup.execute(commands(request, client), arguments, client);
    }

    @Override
    public CommandLine commands(ClientRequest request, ClientConnection client) {
        return CommandGroup.of(
                new CommandLine(new K8s()).addSubcommand(new K8sLabels(facts)), request);
    }
}
