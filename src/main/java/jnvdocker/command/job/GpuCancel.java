package jnvdocker.command.job;

import jnvdocker.command.caller.CommandOutcome;
import jnvdocker.command.caller.OwnCommand;
import jnvdocker.command.job.Job.State;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

import java.io.IOException;

@Command(
        name = "cancel",
        description = {
            "Cancel a submitted command (its user and root only): it leaves the queue, or is"
                    + " stopped with its container.",
            "A container that it started with -d runs on."
        })
final class GpuCancel extends OwnCommand {
    private final Jobs jobs;
    private final ClientRequest request;

    @Parameters(
            paramLabel = "JOB",
            description =
                    "The number, as 'gpu jobs' shows it; or of a job that holds GPUs, the container"
                            + " or program, as 'gpu leases' shows it.")
    private String job;

    GpuCancel(Jobs jobs, ClientRequest request) {
        this.jobs = jobs;
        this.request = request;
    }

    @Override
    public CommandOutcome call() throws IOException, RefusedException {
        Job meant = JobCommands.find(jobs, job, request);
        long number = meant.id();
        if (meant.state() == State.ENDED) {
            throw new RefusedException(
                    "job " + number + " has ended: " + meant.ending().orElseThrow(),
                    "'jnvdocker gpu jobs' shows those that have not");
        }
        boolean isGone = jobs.cancel(meant);
        print(isGone ? "cancelled job " + number : "job " + number + " is being stopped");
        return CommandOutcome.OK;
    }
}
