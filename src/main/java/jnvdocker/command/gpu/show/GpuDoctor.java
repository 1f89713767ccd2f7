package jnvdocker.command.gpu.show;

import jnvdocker.command.caller.ShowCommand;
import jnvdocker.doctor.Diagnosis;
import jnvdocker.doctor.Doctor;
import jnvdocker.doctor.Finding;
import jnvdocker.protocol.ExitCode;
import jnvdocker.screen.Column;
import jnvdocker.screen.Screen;
import jnvdocker.screen.Shown;
import jnvdocker.screen.TextTable;

import picocli.CommandLine.Command;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

@Command(
        name = "doctor",
        description = {
            "Check this host, and say how to fix what is wrong.",
            "Exit with 1 if anything is wrong; hints do not count."
        })
public final class GpuDoctor extends ShowCommand {
    private final Doctor doctor;

    public GpuDoctor(Doctor doctor, Screen screen) {
        super(screen);
        this.doctor = doctor;
    }

    @Override
    protected Report show() {
        return new Report(doctor.examine());
    }

    /** Never shortened to fit a terminal: users copy the remedies. */
    record Report(List<Diagnosis> all) implements Shown {
        @Override
        public Document document() {
            return new Document(
                    count(all, Finding.State.WRONG),
                    count(all, Finding.State.HINT),
                    all.stream().map(it -> line(it.check(), it.finding())).toList());
        }

        @Override
        public List<String> lines(Screen screen) {
            List<String> lines = new ArrayList<>(new TextTable<>(COLUMNS).lines(all, screen));
            lines.add(summary(all));
            return lines;
        }

        @Override
        public ExitCode exitCode() {
            return count(all, Finding.State.WRONG) == 0 ? ExitCode.OK : ExitCode.WRONG;
        }
    }

    private static final List<Column<Diagnosis>> COLUMNS =
            List.of(
                    Column.of("CHECK", Diagnosis::check),
                    Column.state(it -> word(it.finding().state())),
                    Column.of("WHAT", it -> it.finding().line()));

    static String summary(List<Diagnosis> all) {
        long wrong = count(all, Finding.State.WRONG);
        long hints = count(all, Finding.State.HINT);
        long unknown = count(all, Finding.State.UNKNOWN);
        return (wrong == 0 ? "nothing is wrong" : wrong + " wrong")
                + (hints == 0 ? "" : hints == 1 ? ", 1 hint" : ", " + hints + " hints")
                + (unknown == 0 ? "" : ", " + unknown + " unknown");
    }

    record Document(long wrong, long hints, List<Line> checks) {}

    record Line(String check, String state, String what, String remedy) {}

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
