package jnvdocker.command.runtime;

import jnvdocker.oci.install.RuntimeHealth;
import jnvdocker.protocol.ExitCode;
import jnvdocker.screen.Column;
import jnvdocker.screen.Json;
import jnvdocker.screen.Screen;
import jnvdocker.screen.TextTable;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;

@Command(
        name = "status",
        description = {
            "List the engines that have jnvdocker's OCI runtime, and check whether it works.",
            "Exit with 1 if it does not, for one of them."
        })
final class RuntimeStatus implements Callable<Integer> {
    private final RuntimeHost host;
    private final Screen screen;

    @Spec private CommandSpec spec;

    @Option(names = "--json", description = "Print JSON.")
    private boolean json;

    RuntimeStatus(RuntimeHost host, Screen screen) {
        this.host = host;
        this.screen = screen;
    }

    @Override
    public Integer call() throws IOException, RefusedException {
        List<RuntimeHealth> all = host.health();
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(Json.text(all.stream().map(Entry::of).toList()));
        } else {
            lines(all, screen).forEach(out::println);
        }
        boolean works = all.stream().allMatch(each -> each.wrong().isEmpty());
        return (works ? ExitCode.OK : ExitCode.WRONG).code();
    }

    static List<String> lines(List<RuntimeHealth> all, Screen screen) {
        if (all.isEmpty()) {
            return List.of(
                    "the OCI runtime is not installed for any engine: jnvdocker runtime install");
        }
        TextTable table =
                new TextTable(
                        Column.of("ENGINE"),
                        Column.of("NAME"),
                        Column.of("DEFAULT"),
                        Column.of("CONFIG"),
                        Column.of("PROGRAM"),
                        Column.of("BECOMES"),
                        Column.note("STATUS"));
        for (RuntimeHealth each : all) {
            table.row(
                    each.registration().engine().word(),
                    each.registration().name(),
                    each.standard() ? "yes" : "no",
                    each.registration().config(),
                    each.registration().program(),
                    each.real().map(Path::toString).orElse("-"),
                    each.wrong().map(Refusal::message).orElse("works"));
        }
        return table.lines(screen);
    }

    /** An entry as {@code --json} prints it. */
    record Entry(
            String engine,
            String name,
            boolean isDefault,
            String config,
            String program,
            String real,
            String hook,
            boolean works,
            String problem,
            String remedy) {
        static Entry of(RuntimeHealth health) {
            return new Entry(
                    health.registration().engine().word(),
                    health.registration().name(),
                    health.standard(),
                    health.registration().config().toString(),
                    health.registration().program().toString(),
                    health.real().map(Path::toString).orElse(null),
                    health.registration().hook().map(Path::toString).orElse(null),
                    health.wrong().isEmpty(),
                    health.wrong().map(Refusal::what).orElse(null),
                    health.wrong().flatMap(Refusal::remedy).orElse(null));
        }
    }
}
