package jnvdocker.command.runtime;

import jnvdocker.command.caller.CommandGroup;
import jnvdocker.command.caller.OwnCommands;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.screen.Screen;
import jnvdocker.words.RefusedException;

import picocli.CommandLine;
import picocli.CommandLine.Command;

import java.io.IOException;
import java.util.List;

/** {@code jnvdocker runtime …}: has engines call our OCI runtime, and answers its questions. */
public final class RuntimeCommand implements OwnCommands {
    private final RuntimeHost host;
    private final RuntimeCreate create;
    private final RuntimeExec exec;
    private final RuntimeHook hook;
    private final RuntimeWait wait;

    /**
     * @param create answers our runtime about a container
     * @param exec answers it about a command in a container
     * @param hook answers it as the hook of our CDI devices
     * @param wait answers {@code jnvdockerd --proxy} about a container that is to start
     */
    public RuntimeCommand(
            RuntimeHost host,
            RuntimeCreate create,
            RuntimeExec exec,
            RuntimeHook hook,
            RuntimeWait wait) {
        this.host = host;
        this.create = create;
        this.exec = exec;
        this.hook = hook;
        this.wait = wait;
    }

    @Command(
            name = "jnvdocker runtime",
            description =
                    "Give the containers of Docker, podman, containerd and CRI-O GPUs through"
                            + " jnvdocker.",
            synopsisSubcommandLabel = "COMMAND")
    private static final class Runtime extends CommandGroup.Root {}

    @Override
    public String name() {
        return "runtime";
    }

    @Override
    public void run(List<String> arguments, ClientRequest request, ClientConnection client)
            throws IOException, RefusedException {
        switch (arguments.isEmpty() ? "" : arguments.getFirst()) {
            case RuntimeCreate.WORD -> create.run(arguments, request, client);
            case RuntimeExec.WORD -> exec.run(arguments, request, client);
            case RuntimeHook.WORD -> hook.run(arguments, request, client);
            case RuntimeWait.WORD -> wait.run(arguments, request, client);
            default -> CommandGroup.execute(commands(request, client), arguments, client);
        }
    }

    @Override
    public CommandLine commands(ClientRequest request, ClientConnection client) {
        CommandLine runtime =
                new CommandLine(new Runtime())
                        .addSubcommand(new RuntimeInstall(host, request))
                        .addSubcommand(new RuntimeStatus(host, Screen.of(request)))
                        .addSubcommand(new RuntimeUninstall(host, request));
        return CommandGroup.of(runtime, request);
    }
}
