package jnvdocker.command.gpu;

import jnvdocker.command.caller.Caller;
import jnvdocker.core.Leases;
import jnvdocker.decision.RecentRefusals.Refused;
import jnvdocker.lease.Owner;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.screen.Column;
import jnvdocker.screen.Json;
import jnvdocker.screen.Screen;
import jnvdocker.screen.TextTable;
import jnvdocker.words.Quote;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;

@Command(
        name = "refusals",
        description = {
            "List your last refused requests for GPUs, and why they were refused, the latest"
                    + " first.",
            "Containers whose user is not known are listed, too; root sees everybody's. The daemon"
                    + " keeps the last 40 of each user until it ends."
        })
final class GpuRefusals implements Callable<Integer> {
    private final Leases leases;
    private final ClientRequest request;
    private final Screen screen;

    @Spec private CommandSpec spec;

    @Option(names = "--json", description = "Print JSON.")
    private boolean json;

    GpuRefusals(Leases leases, ClientRequest request, Screen screen) {
        this.leases = leases;
        this.request = request;
        this.screen = screen;
    }

    @Override
    public Integer call() {
        List<Refused> refused =
                Caller.isRoot(request) ? leases.refusals() : shown(leases, Caller.owner(request));
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(Json.text(entries(refused)));
        } else {
            lines(refused, screen).forEach(out::println);
        }
        return ExitCode.OK.code();
    }

    static List<Refused> shown(Leases leases, Owner reader) {
        return leases.refusals().stream().filter(it -> isFor(reader, it.owner())).toList();
    }

    /** A refusal of an unknown user may be the reader's. */
    static boolean isFor(Owner reader, Owner owner) {
        return owner.isUnknown() || owner.uid() == reader.uid();
    }

    static List<String> lines(List<Refused> refused, Screen screen) {
        if (refused.isEmpty()) {
            return List.of("no request for GPUs was refused since the daemon started");
        }
        TextTable table =
                new TextTable(
                        Column.of("AT"),
                        Column.of("USER"),
                        new Column("FOR", Column.Cut.LAST),
                        Column.note("WHY"));
        for (Refused each : refused) {
            table.row(
                    LeaseText.time(each.at()),
                    Quote.shown(each.owner().name()),
                    Quote.shown(each.purpose()),
                    Quote.shown(each.why()));
        }
        return table.lines(screen);
    }

    /** A refusal, as {@code --json} prints it. */
    record Entry(String at, String user, Long uid, String purpose, String why) {
        private static Entry of(Refused refused) {
            return new Entry(
                    refused.at().toString(),
                    refused.owner().name(),
                    HolderJson.uid(refused.owner()).orElse(null),
                    refused.purpose(),
                    refused.why());
        }
    }

    static List<Entry> entries(List<Refused> refused) {
        return refused.stream().map(Entry::of).toList();
    }
}
