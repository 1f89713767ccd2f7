package jnvdocker.command.runtime;

import jnvdocker.command.caller.ShowCommand;
import jnvdocker.oci.install.RuntimeHealth;
import jnvdocker.protocol.ExitCode;
import jnvdocker.screen.Column;
import jnvdocker.screen.Screen;
import jnvdocker.screen.Shown;
import jnvdocker.screen.TextTable;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

@Command(
        name = "status",
        description = {
            "List the engines that have jnvdocker's OCI runtime, and check whether it works.",
            "Exit with 1 if it does not, for one of them."
        })
final class RuntimeStatus extends ShowCommand {
    private final RuntimeHost host;

    RuntimeStatus(RuntimeHost host, Screen screen) {
        super(screen);
        this.host = host;
    }

    @Override
    protected Report show() throws IOException, RefusedException {
        return new Report(host.health());
    }

    record Report(List<RuntimeHealth> all) implements Shown {
        @Override
        public Object document() {
            return all.stream().map(Entry::of).toList();
        }

        @Override
        public List<String> lines(Screen screen) {
            return all.isEmpty()
                    ? List.of(
                            "the OCI runtime is not installed for any engine: jnvdocker runtime"
                                    + " install")
                    : new TextTable<>(COLUMNS).lines(all, screen);
        }

        @Override
        public ExitCode exitCode() {
            boolean works = all.stream().allMatch(each -> each.wrong().isEmpty());
            return works ? ExitCode.OK : ExitCode.WRONG;
        }
    }

    private static final List<Column<RuntimeHealth>> COLUMNS =
            List.of(
                    Column.of("ENGINE", it -> it.registration().engine().word()),
                    Column.of("NAME", it -> it.registration().name()),
                    Column.of("DEFAULT", it -> it.standard() ? "yes" : "no"),
                    Column.of("CONFIG", it -> it.registration().config()),
                    Column.of("PROGRAM", it -> it.registration().program()),
                    Column.of("BECOMES", it -> it.real().map(Path::toString).orElse("-")),
                    Column.note("STATUS", it -> it.wrong().map(Refusal::message).orElse("works")));

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
