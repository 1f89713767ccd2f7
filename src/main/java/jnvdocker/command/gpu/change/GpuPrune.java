package jnvdocker.command.gpu.change;

import jnvdocker.claim.Pruned;
import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.ShowCommand;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.screen.Column;
import jnvdocker.screen.Screen;
import jnvdocker.screen.Shown;
import jnvdocker.screen.TextTable;
import jnvdocker.upkeep.Prune;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

@Command(
        name = "prune",
        description = {
            "Remove driver volumes that no container uses, except the loaded driver's, and claims"
                    + " whose containers are gone (root only).",
            "Print what is kept, and why."
        })
public final class GpuPrune extends ShowCommand {
    private final Prune prune;
    private final ClientRequest request;

    @Option(names = "--dry-run", description = "Print what would be removed, and remove nothing.")
    private boolean dry;

    @Option(
            names = "--other-engines",
            description =
                    "Also remove claims of engines other than the daemon's, which cannot be"
                            + " queried: containers that still have them can no longer be started.")
    private boolean otherEngines;

    public GpuPrune(Prune prune, ClientRequest request) {
        super(Screen.of(request));
        this.prune = prune;
        this.request = request;
    }

    @Override
    protected Shown show() throws RefusedException {
        Caller.refuseUnlessRoot(request, "prune volumes");
        return new Report(dry, prune.run(dry, otherEngines));
    }

    private record Report(boolean dry, List<Pruned> done) implements Shown {
        @Override
        public Object document() {
            return new Document(
                    dry,
                    freed(),
                    done.stream()
                            .map(it ->
                                    new Volume(
                                            it.volume(),
                                            action(it).replace(' ', '_'),
                                            it.removed() ? it.freed() : null,
                                            it.why()))
                            .toList());
        }

        /** The last row is the sum. */
        @Override
        public List<String> lines(Screen screen) {
            List<Row> rows = new ArrayList<>();
            for (Pruned it : done) {
                String freed = it.removed() ? bytes(it.freed()) : "-";
                rows.add(new Row(it.volume(), action(it), freed, it.why()));
            }
            long removed = done.stream().filter(Pruned::removed).count();
            rows.add(new Row(removed + " of " + done.size(), goes(), bytes(freed()), ""));
            return new TextTable<>(COLUMNS).lines(rows, screen);
        }

        private String action(Pruned volume) {
            return volume.removed() ? goes() : "kept";
        }

        private String goes() {
            return dry ? "would go" : "removed";
        }

        private long freed() {
            return done.stream().mapToLong(Pruned::freed).sum();
        }
    }

    private record Row(String volume, String done, String freed, String why) {}

    private static final List<Column<Row>> COLUMNS =
            List.of(
                    Column.of("VOLUME", Row::volume),
                    Column.of("DONE", Row::done),
                    Column.of("FREED", Row::freed),
                    Column.note("WHY", Row::why));

    private static String bytes(long bytes) {
        return String.format(Locale.ROOT, "%,d", bytes);
    }

    private record Document(boolean dryRun, long freedBytes, List<Volume> volumes) {}

    private record Volume(String volume, String action, Long freedBytes, String why) {}
}
