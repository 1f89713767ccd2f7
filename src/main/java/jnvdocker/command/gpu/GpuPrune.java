package jnvdocker.command.gpu;

import jnvdocker.claim.Pruned;
import jnvdocker.command.caller.Caller;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.screen.Column;
import jnvdocker.screen.Json;
import jnvdocker.screen.Screen;
import jnvdocker.screen.TextTable;
import jnvdocker.upkeep.Prune;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;

@Command(
        name = "prune",
        description = {
            "Remove driver volumes that no container uses, except the loaded driver's, and claims"
                    + " whose containers are gone (root only).",
            "Print what is kept, and why."
        })
final class GpuPrune implements Callable<Integer> {
    private final Prune prune;
    private final ClientRequest request;

    @Spec private CommandSpec spec;

    @Option(names = "--dry-run", description = "Print what would be removed, and remove nothing.")
    private boolean dry;

    @Option(
            names = "--other-engines",
            description =
                    "Also remove claims of engines other than the daemon's, which cannot be"
                            + " queried: containers that still have them can no longer be started.")
    private boolean otherEngines;

    @Option(names = "--json", description = "Print JSON.")
    private boolean json;

    GpuPrune(Prune prune, ClientRequest request) {
        this.prune = prune;
        this.request = request;
    }

    @Override
    public Integer call() throws RefusedException {
        Caller.refuseUnlessRoot(request, "prune volumes");
        List<Pruned> done = prune.run(dry, otherEngines);
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(Json.text(document(done)));
        } else {
            lines(done).forEach(out::println);
        }
        return ExitCode.OK.code();
    }

    private List<String> lines(List<Pruned> done) {
        TextTable table =
                new TextTable(
                        Column.of("VOLUME"),
                        Column.of("DONE"),
                        Column.of("FREED"),
                        Column.note("WHY"));
        for (Pruned volume : done) {
            table.row(
                    volume.volume(),
                    action(volume),
                    volume.removed() ? bytes(volume.freed()) : "-",
                    volume.why());
        }
        table.row(
                removed(done) + " of " + done.size(),
                dry ? "would go" : "removed",
                bytes(freed(done)),
                "");
        return table.lines(Screen.of(request));
    }

    private String action(Pruned volume) {
        if (!volume.removed()) {
            return "kept";
        }
        return dry ? "would go" : "removed";
    }

    private static long removed(List<Pruned> done) {
        return done.stream().filter(Pruned::removed).count();
    }

    private static long freed(List<Pruned> done) {
        return done.stream().mapToLong(Pruned::freed).sum();
    }

    private static String bytes(long bytes) {
        return String.format(Locale.ROOT, "%,d", bytes);
    }

    private record Document(boolean dryRun, long freedBytes, List<Volume> volumes) {}

    private record Volume(String volume, String action, Long freedBytes, String why) {}

    private Document document(List<Pruned> done) {
        return new Document(
                dry,
                freed(done),
                done.stream()
                        .map(volume ->
                                new Volume(
                                        volume.volume(),
                                        action(volume).replace(' ', '_'),
                                        volume.removed() ? volume.freed() : null,
                                        volume.why()))
                        .toList());
    }
}
