package jnvdocker.command.job;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.job.Job.State;
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
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;

@Command(
        name = "jobs",
        description = {
            "List your submitted commands that wait or run; root lists those of all users.",
            "'journalctl -u jnvdocker-job-NUMBER' shows the output of a job."
        })
final class GpuJobs implements Callable<Integer> {
    private final Jobs jobs;
    private final ClientRequest request;
    private final Screen screen;

    @Spec private CommandSpec spec;

    @Option(names = "--all", description = "List those that have ended, too.")
    private boolean all;

    @Option(names = "--json", description = "Print JSON.")
    private boolean json;

    GpuJobs(Jobs jobs, ClientRequest request, Screen screen) {
        this.jobs = jobs;
        this.request = request;
        this.screen = screen;
    }

    @Override
    public Integer call() {
        List<Job> shown =
                JobCommands.visible(jobs, request).stream()
                        .filter(job -> all || job.state() != State.ENDED)
                        .toList();
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(Json.text(shown.stream().map(this::entry).toList()));
        } else if (shown.isEmpty()) {
            out.println(all ? "there are no jobs" : "no job waits or runs");
        } else {
            lines(shown).forEach(out::println);
        }
        Map<Long, String> unreadable = Caller.isRoot(request) ? jobs.unreadable() : Map.of();
        PrintWriter err = spec.commandLine().getErr();
        unreadable.forEach((id, why) -> err.println("jnvdocker: job " + id + ": " + why));
        return unreadable.isEmpty() ? ExitCode.OK.code() : ExitCode.WRONG.code();
    }

    private List<String> lines(List<Job> shown) {
        TextTable table =
                new TextTable(
                        Column.of("JOB"),
                        Column.of("USER"),
                        Column.of("STATE"),
                        Column.of("SINCE"),
                        new Column("COMMAND", Column.Cut.NEXT),
                        Column.note("NOTE"));
        for (Job job : shown) {
            Entry entry = entry(job);
            String since = entry.ended != null ? entry.ended : entry.started;
            table.row(
                    job.id(),
                    Quote.shown(job.user()),
                    job.state(),
                    LeaseText.time(Instant.parse(since != null ? since : entry.submitted)),
                    job.title(),
                    entry.note == null ? "" : entry.note);
        }
        return table.lines(screen);
    }

    private Entry entry(Job job) {
        return new Entry(
                job.id(),
                job.user(),
                job.owner(),
                job.state().toString().toLowerCase(Locale.ROOT),
                job.title(),
                JobUnits.name(job.id()),
                job.submitted(),
                job.start() == null ? null : job.start().at(),
                job.end() == null ? null : job.end().at(),
                job.end() == null ? null : job.end().outcome().toString().toLowerCase(Locale.ROOT),
                job.end() == null ? null : job.end().exitCode(),
                job.ending().or(() -> jobs.trouble(job.id())).orElse(null));
    }

    /** A job, as {@code --json} prints it. */
    record Entry(
            long job,
            String user,
            int uid,
            String state,
            String command,
            String unit,
            String submitted,
            String started,
            String ended,
            String outcome,
            Integer exitCode,
            String note) {}
}
