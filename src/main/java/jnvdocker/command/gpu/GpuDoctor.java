package jnvdocker.command.gpu;

import jnvdocker.doctor.Diagnosis;
import jnvdocker.doctor.Doctor;
import jnvdocker.doctor.Finding;
import jnvdocker.protocol.ExitCode;
import jnvdocker.screen.Colour;
import jnvdocker.screen.Column;
import jnvdocker.screen.Json;
import jnvdocker.screen.Screen;
import jnvdocker.screen.TextTable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;

@Command(
        name = "doctor",
        description = {
            "Check this host, and say how to fix what is wrong.",
            "Exit with 1 if anything is wrong; hints do not count."
        })
final class GpuDoctor implements Callable<Integer> {
    private final Doctor doctor;
    private final Screen screen;

    @Spec private CommandSpec spec;

    @Option(names = "--json", description = "Print JSON.")
    private boolean json;

    GpuDoctor(Doctor doctor, Screen screen) {
        this.doctor = doctor;
        this.screen = screen;
    }

    @Override
    public Integer call() {
        List<Diagnosis> all = doctor.examine();
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(Json.text(document(all)));
        } else {
            // Never shortened to fit a terminal: users copy the remedies.
            table(all).lines(screen).forEach(out::println);
            out.println(summary(all));
        }
        return (count(all, Finding.State.WRONG) == 0 ? ExitCode.OK : ExitCode.WRONG).code();
    }

    private static TextTable table(List<Diagnosis> all) {
        TextTable table = new TextTable(Column.of("CHECK"), Column.of("STATE"), Column.of("WHAT"));
        for (Diagnosis diagnosis : all) {
            Finding finding = diagnosis.finding();
            String state = word(finding.state());
            table.row(
                    diagnosis.check(),
                    new TextTable.Cell(state, Colour.ofState(state)),
                    finding.line());
        }
        return table;
    }

    static String summary(List<Diagnosis> all) {
        long wrong = count(all, Finding.State.WRONG);
        long hints = count(all, Finding.State.HINT);
        long unknown = count(all, Finding.State.UNKNOWN);
        return (wrong == 0 ? "nothing is wrong" : wrong + " wrong")
                + (hints == 0 ? "" : hints == 1 ? ", 1 hint" : ", " + hints + " hints")
                + (unknown == 0 ? "" : ", " + unknown + " unknown");
    }

    private record Document(long wrong, long hints, List<Line> checks) {}

    private record Line(String check, String state, String what, String remedy) {}

    private static Document document(List<Diagnosis> all) {
        return new Document(
                count(all, Finding.State.WRONG),
                count(all, Finding.State.HINT),
                all.stream().map(it -> line(it.check(), it.finding())).toList());
    }

    private static Line line(String check, Finding finding) {
        String remedy = finding.remedy().isEmpty() ? null : finding.remedy();
        return new Line(check, word(finding.state()), finding.what(), remedy);
    }

    private static long count(List<Diagnosis> all, Finding.State state) {
        return all.stream().filter(diagnosis -> diagnosis.finding().state() == state).count();
    }

    private static String word(Finding.State state) {
        return state.name().toLowerCase(Locale.ROOT);
    }
}
