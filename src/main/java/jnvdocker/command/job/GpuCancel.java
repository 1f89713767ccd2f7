package jnvdocker.command.job;

import jnvdocker.command.caller.OwnCommand;
import jnvdocker.command.job.Job.State;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
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

    @Parameters(index = "0", paramLabel = "NUMBER", description = "The job, as 'gpu jobs' has it.")
    private long number;

    GpuCancel(Jobs jobs, ClientRequest request) {
        this.jobs = jobs;
        this.request = request;
    }

    @Override
    public Integer call() throws IOException, RefusedException {
        Job job = JobCommands.find(jobs, number, request);
        if (job.state() == State.ENDED) {
            throw new RefusedException(
                    "job " + number + " has ended: " + job.ending().orElseThrow(),
                    "'jnvdocker gpu jobs' shows those that have not");
        }
        boolean isGone = jobs.cancel(job);
        print(isGone ? "cancelled job " + number : "job " + number + " is being stopped");
        return ExitCode.OK.code();
    }
}
