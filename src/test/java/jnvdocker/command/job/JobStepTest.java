package jnvdocker.command.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import jnvdocker.command.job.Job.End;
import jnvdocker.command.job.Job.Launch;
import jnvdocker.command.job.Job.Outcome;
import jnvdocker.command.job.Job.Start;
import jnvdocker.command.job.JobUnits.Unit;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.time.Instant;
import java.util.List;
import java.util.Map;

class JobStepTest {
    private static final Instant NOW = Instant.parse("2026-11-28T07:00:00Z");
    private static final Unit ABSENT = new Unit("not-found", "inactive", "dead", 0, 0);
    private static final Unit QUEUED = new Unit("loaded", "inactive", "dead", 0, 0);
    private static final Unit RUNS = new Unit("loaded", "active", "running", 0, 0);
    private static final Unit ENDS = new Unit("loaded", "deactivating", "stop-sigterm", 0, 0);
    private static final Unit SUCCEEDED = new Unit("loaded", "active", "exited", 1, 0);
    private static final Unit FAILED = new Unit("loaded", "failed", "failed", 1, 3);
    private static final Unit KILLED = new Unit("loaded", "failed", "failed", 2, 9);
    private static final Unit USERLESS = new Unit("loaded", "failed", "failed", 1, 217);

    private static final Job FRESH =
            new Job(
                    5,
                    1000,
                    1000,
                    "alice",
                    NOW.toString(),
                    "run cuda",
                    new Job.Request("/home", List.of("run", "cuda"), List.of("A=b")),
                    false,
                    null,
                    null,
                    null,
                    null);
    private static final Job LAUNCHED = FRESH.launchedAs(new Launch("boot", 17, 4));
    private static final Job STARTED = LAUNCHED.startedAs(new Start(NOW.toString(), "0123"));

    private static JobStep step(Job job, Unit unit) {
        return JobStep.of(job, unit, "boot", NOW);
    }

    private static JobStep finish(Outcome outcome, Integer code) {
        return new JobStep.Finish(new End(NOW.toString(), outcome, code));
    }

    @Test
    void jobIsLaunchedUntilAUnitHasIt() {
        assertEquals(new JobStep.Launch(), step(FRESH, ABSENT));
        for (Unit unit : List.of(QUEUED, RUNS, ENDS)) {
            for (Job job : List.of(FRESH, LAUNCHED, STARTED, STARTED.asCancelled())) {
                assertEquals(new JobStep.Nothing(), step(job, unit));
            }
        }
    }

    @Test
    void onlyWhatHasNotStartedIsLaunchedAfterAReboot() {
        assertEquals(new JobStep.Launch(), JobStep.of(LAUNCHED, ABSENT, "next", NOW));
        assertEquals(new JobStep.Nothing(), JobStep.of(LAUNCHED, RUNS, "next", NOW));
        assertEquals(finish(Outcome.REBOOTED, null), JobStep.of(STARTED, ABSENT, "next", NOW));
        assertEquals(
                finish(Outcome.CANCELLED, null),
                JobStep.of(LAUNCHED.asCancelled(), ABSENT, "next", NOW));
    }

    @Test
    void unitSaysHowItEnded() {
        assertEquals(finish(Outcome.EXITED, 0), step(STARTED, SUCCEEDED));
        assertEquals(finish(Outcome.EXITED, 3), step(STARTED, FAILED));
        assertEquals(finish(Outcome.EXITED, 3), step(LAUNCHED, FAILED));
        assertEquals(finish(Outcome.KILLED, 137), step(STARTED, KILLED));
        assertEquals(finish(Outcome.NO_USER, null), step(FRESH, USERLESS));
        assertEquals(finish(Outcome.EXITED, 217), step(STARTED, USERLESS));
        assertEquals(finish(Outcome.CANCELLED, 137), step(STARTED.asCancelled(), KILLED));
        assertEquals(finish(Outcome.CANCELLED, null), step(FRESH.asCancelled(), ABSENT));
        assertEquals(finish(Outcome.STOPPED, null), step(STARTED, ABSENT));
        assertEquals(finish(Outcome.STOPPED, null), step(LAUNCHED, ABSENT));
    }

    @Test
    void systemctlIsRead() throws IOException {
        String shown =
                """
                ExecMainCode=1
                ExecMainStatus=3
                Id=jnvdocker-job-5.service
                LoadState=loaded
                ActiveState=failed
                SubState=failed

                ExecMainCode=0
                ExecMainStatus=0
                Id=jnvdocker-job-12.service
                LoadState=not-found
                ActiveState=inactive
                SubState=dead
                """;
        assertEquals(Map.of(5L, FAILED, 12L, ABSENT), JobUnits.parse(shown));
        for (String bad : List.of("", "Failed to connect", shown.replace("Code=0", "Code="))) {
            assertThrows(IOException.class, () -> JobUnits.parse(bad), bad);
        }
    }
}
