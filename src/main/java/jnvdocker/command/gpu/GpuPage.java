package jnvdocker.command.gpu;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.CommandOutcome;
import jnvdocker.command.caller.OwnCommand;
import jnvdocker.command.gpu.view.GpuSettings;
import jnvdocker.command.hosts.HostQuery;
import jnvdocker.host.HostName;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

@Command(
        name = "page",
        description = {
            "Print how to open the page that shows the GPUs in a browser.",
            "It is read through the daemon's socket, which ssh can connect to from another"
                    + " computer."
        })
final class GpuPage extends OwnCommand {
    private static final int PORTS = 1 << 16;

    private final GpuSettings settings;
    private final ClientRequest request;
    private final ClientConnection client;

    @Option(
            names = "--port",
            paramLabel = "PORT",
            defaultValue = "8080",
            description = "The port of the other computer (${DEFAULT-VALUE}).")
    private int port;

    @Option(
            names = "--open",
            description =
                    "Open the page here, with xdg-open: needs a desktop, and the key 'listen' of"
                            + " the configuration.")
    private boolean open;

    @Option(
            names = "--on",
            split = ",",
            paramLabel = "HOST",
            description =
                    "Print how to open the pages of these hosts, as tabs of one; all means those of"
                            + " the configuration.")
    private List<String> hosts = List.of();

    GpuPage(GpuSettings settings, ClientRequest request, ClientConnection client) {
        this.settings = settings;
        this.request = request;
        this.client = client;
    }

    @Override
    public CommandOutcome call() throws IOException, RefusedException {
        if (port < 1 || port + hosts.size() > PORTS) {
            throw usage("--port " + port + " is not between 1 and " + (PORTS - 1));
        }
        Optional<String> here =
                settings.page().listen().get().map(it -> "http://" + it.text() + "/");
        if (open) {
            List<String> program = List.of("xdg-open", openable(here));
            return new CommandOutcome.Become(() -> client.program(List.of(), program));
        }
        if (!hosts.isEmpty()) {
            printTabs(HostQuery.named(hosts, settings.hosts().get()));
            return CommandOutcome.OK;
        }
        print("On your own computer, run this and leave it running:");
        print("");
        print("    " + forward(port, HostName.read()));
        print("");
        print("Then open http://localhost:" + port + "/ there.");
        here.ifPresent(url ->
                print(
                        "On this host: "
                                + url
                                + (settings.page().labels().getAsBoolean()
                                        ? ""
                                        : " (without names: listen_labels is not set)")));
        return CommandOutcome.OK;
    }

    /** Each host's page has a port of the reader's computer. */
    private void printTabs(List<String> named) {
        print("On your own computer, run these and leave them running:");
        print("");
        List<String> tabs = new ArrayList<>();
        for (String host : named) {
            int its = port + tabs.size();
            print("    " + forward(its, host));
            tabs.add(host.substring(host.indexOf('@') + 1) + ":" + its);
        }
        print("");
        print(
                "Then open http://localhost:%s/?hosts=%s there."
                        .formatted(port, String.join(",", tabs)));
    }

    private String forward(int local, String host) {
        String user = host.contains("@") ? "" : Caller.owner(request).name() + "@";
        return "ssh -N -L %s:%s %s"
                .formatted(local, settings.page().socket(), Quote.shown(user + host));
    }

    private String openable(Optional<String> here) throws RefusedException {
        if (request.variable("DISPLAY").isEmpty()
                && request.variable("WAYLAND_DISPLAY").isEmpty()) {
            throw new RefusedException(
                    "this session has no desktop (DISPLAY and WAYLAND_DISPLAY are not set)",
                    "run 'jnvdocker gpu page' to see how to open the page elsewhere");
        }
        return here.orElseThrow(() ->
                new RefusedException(
                        "a browser cannot open the daemon's socket, and 'listen' is not set",
                        "run 'jnvdocker gpu page' and the ssh command that it prints"));
    }
}
