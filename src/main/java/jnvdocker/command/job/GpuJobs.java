package jnvdocker.command.job;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.ShowCommand;
import jnvdocker.command.job.Job.State;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.screen.Column;
import jnvdocker.screen.Listing;
import jnvdocker.screen.Screen;
import jnvdocker.screen.Shown;
import jnvdocker.words.Quote;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;

@Command(
        name = "jobs",
        description = {
            "List your submitted commands that wait or run; root lists those of all users.",
            "'journalctl -u jnvdocker-job-NUMBER' shows the output of a job."
        })
final class GpuJobs extends ShowCommand {
    private final Jobs jobs;
    private final ClientRequest request;

    @Option(names = "--all", description = "List those that have ended, too.")
    private boolean all;

    GpuJobs(Jobs jobs, ClientRequest request, Screen screen) {
        super(screen);
        this.jobs = jobs;
        this.request = request;
    }

    @Override
    protected Shown show() {
        List<Entry> shown =
                JobCommands.visible(jobs, request).stream()
                        .filter(job -> all || job.state() != State.ENDED)
                        .map(this::entry)
                        .toList();
        Map<Long, String> unreadable = Caller.isRoot(request) ? jobs.unreadable() : Map.of();
        unreadable.forEach((id, why) -> warn("jnvdocker: job " + id + ": " + why));
        return new Report(
                new Listing<>(
                        shown,
                        List.of(
                                Column.of("JOB", Entry::job),
                                Column.of("USER", entry -> Quote.shown(entry.user())),
                                Column.of("STATE", entry -> entry.state().toUpperCase(Locale.ROOT)),
                                Column.of("SINCE", entry -> LeaseText.time(entry.since())),
                                new Column<>("COMMAND", Column.Cut.NEXT, Entry::command),
                                Column.note("NOTE", entry -> Objects.toString(entry.note(), ""))),
                        () -> shown,
                        all ? "there are no jobs" : "no job waits or runs"),
                unreadable.isEmpty() ? ExitCode.OK : ExitCode.WRONG);
    }

    /**
     * The jobs of which the records can be read.
     *
     * @param exitCode that says whether these are all
     */
    private record Report(Listing<Entry> jobs, ExitCode exitCode) implements Shown {
        @Override
        public Object document() {
            return jobs.document();
        }

        @Override
        public List<String> lines(Screen screen) {
            return jobs.lines(screen);
        }
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
            String note) {
        /** When the state began. */
        private Instant since() {
            return Instant.parse(
                    Stream.of(ended, started, submitted)
                            .filter(Objects::nonNull)
                            .findFirst()
                            .orElseThrow());
        }
    }
}
