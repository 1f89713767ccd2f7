package jnvdocker.command.gpu.history;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.ShowCommand;
import jnvdocker.command.gpu.view.HolderJson;
import jnvdocker.core.Leases;
import jnvdocker.decision.RecentRefusals.Refused;
import jnvdocker.lease.Owner;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.screen.Column;
import jnvdocker.screen.Listing;
import jnvdocker.screen.Screen;
import jnvdocker.words.Quote;

import picocli.CommandLine.Command;

import java.util.List;

@Command(
        name = "refusals",
        description = {
            "List your last refused requests for GPUs, and why they were refused, the latest"
                    + " first.",
            "Containers whose user is not known are listed, too; root sees everybody's. The daemon"
                    + " keeps the last 40 of each user until it ends."
        })
public final class GpuRefusals extends ShowCommand {
    private final Leases leases;
    private final ClientRequest request;

    public GpuRefusals(Leases leases, ClientRequest request, Screen screen) {
        super(screen);
        this.leases = leases;
        this.request = request;
    }

    @Override
    protected Listing<Refused> show() {
        return listing(
                Caller.isRoot(request)
                        ? leases.decisions().refusals().latest()
                        : shown(leases, Caller.owner(request)));
    }

    static Listing<Refused> listing(List<Refused> refused) {
        return new Listing<>(
                refused,
                List.of(
                        Column.of("AT", it -> LeaseText.time(it.at())),
                        Column.of("USER", it -> Quote.shown(it.owner().name())),
                        new Column<>("FOR", Column.Cut.LAST, it -> Quote.shown(it.purpose())),
                        Column.note("WHY", it -> Quote.whole(it.why()))),
                () -> entries(refused),
                "no request for GPUs was refused since the daemon started");
    }

    public static List<Refused> shown(Leases leases, Owner reader) {
        return leases.decisions().refusals().latest().stream()
                .filter(it -> isFor(reader, it.owner()))
                .toList();
    }

    /** A refusal of an unknown user may be the reader's. */
    static boolean isFor(Owner reader, Owner owner) {
        return owner.isUnknown() || owner.uid() == reader.uid();
    }

    /** A refusal, as {@code --json} prints it. */
    public record Entry(String at, String user, Long uid, String purpose, String why) {
        private static Entry of(Refused refused) {
            return new Entry(
                    refused.at().toString(),
                    refused.owner().name(),
                    HolderJson.uid(refused.owner()).orElse(null),
                    refused.purpose(),
                    refused.why());
        }
    }

    public static List<Entry> entries(List<Refused> refused) {
        return refused.stream().map(Entry::of).toList();
    }
}
