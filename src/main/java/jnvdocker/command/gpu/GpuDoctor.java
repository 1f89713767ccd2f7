package jnvdocker.command.gpu;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.doctor.Diagnosis;
import jnvdocker.doctor.Doctor;
import jnvdocker.doctor.Finding;
import jnvdocker.protocol.ExitCode;
import jnvdocker.screen.Colour;
import jnvdocker.screen.Column;
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
            "Says what is wrong with this host, and how to mend it.",
            "Exits with 1 if anything is wrong; hints do not count."
        })
final class GpuDoctor implements Callable<Integer> {
    private static final int SOMETHING_IS_WRONG = 1;

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
            out.println(LeaseJson.text(object(all)));
        } else {
            // Never shortened to fit a terminal: a remedy is there to be copied.
            table(all).lines(screen).forEach(out::println);
            out.println(summary(all));
        }
        return count(all, Finding.State.WRONG) == 0 ? ExitCode.OK.code() : SOMETHING_IS_WRONG;
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

    private static ObjectNode object(List<Diagnosis> all) {
        ObjectNode root = LeaseJson.object();
        root.put("wrong", count(all, Finding.State.WRONG));
        root.put("hints", count(all, Finding.State.HINT));
        ArrayNode checks = root.putArray("checks");
        for (Diagnosis diagnosis : all) {
            Finding finding = diagnosis.finding();
            checks.addObject()
                    .put("check", diagnosis.check())
                    .put("state", word(finding.state()))
                    .put("what", finding.what())
                    .put("remedy", finding.remedy().isEmpty() ? null : finding.remedy());
        }
        return root;
    }

    private static long count(List<Diagnosis> all, Finding.State state) {
        return all.stream().filter(diagnosis -> diagnosis.finding().state() == state).count();
    }

    private static String word(Finding.State state) {
        return state.name().toLowerCase(Locale.ROOT);
    }
}
