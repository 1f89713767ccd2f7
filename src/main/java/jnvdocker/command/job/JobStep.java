package jnvdocker.command.job;

import jnvdocker.command.job.Job.End;
import jnvdocker.command.job.Job.Outcome;
import jnvdocker.command.job.JobUnits.Unit;

import java.time.Instant;

/** What is to be done about a job that has not ended, as its record and its unit show it. */
sealed interface JobStep {
    int EXIT = 1;
    int SIGNAL_CODE = 128;

    /** The exit code of a unit whose user does not exist, as in systemd.exec(5). */
    int NO_USER = 217;

    /** It goes on. */
    record Nothing() implements JobStep {}

    /** It has no unit, and has not run yet. */
    record Launch() implements JobStep {}

    /** It has ended. */
    record Finish(End end) implements JobStep {}

    /**
     * @param boot the id of this boot
     */
    static JobStep of(Job job, Unit unit, String boot, Instant now) {
        boolean isOfThisBoot = job.process(boot).isPresent();
        if (job.start() != null && !isOfThisBoot) {
            return finish(now, Outcome.REBOOTED, null);
        }
        if (unit.runs()) {
            return new Nothing();
        }
        if (job.cancelled()) {
            return finish(now, Outcome.CANCELLED, unit.code() == 0 ? null : code(unit));
        }
        if (unit.hasEnded()) {
            return unit.status() == NO_USER && job.start() == null
                    ? finish(now, Outcome.NO_USER, null)
                    : finish(
                            now, unit.code() == EXIT ? Outcome.EXITED : Outcome.KILLED, code(unit));
        }
        return isOfThisBoot ? finish(now, Outcome.STOPPED, null) : new Launch();
    }

    private static JobStep finish(Instant now, Outcome outcome, Integer exitCode) {
        return new Finish(new End(now.toString(), outcome, exitCode));
    }

    private static int code(Unit unit) {
        return unit.code() == EXIT ? unit.status() : SIGNAL_CODE + unit.status();
    }
}
