package jnvdocker.command.job;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.CommandOutcome;
import jnvdocker.command.caller.GpuWait;
import jnvdocker.command.caller.OwnCommand;
import jnvdocker.docker.cli.DockerCommandLine;
import jnvdocker.docker.cli.RunCommand;
import jnvdocker.docker.cli.Verb;
import jnvdocker.lease.Owner;
import jnvdocker.protocol.CallResult;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.RawText;
import jnvdocker.words.FailedException;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

@Command(
        name = "submit",
        synopsisHeading = "Usage: ",
        customSynopsis = {
            "jnvdocker gpu submit [--gpu-wait=DURATION] [--] run …",
            "       jnvdocker gpu submit [--gpu-wait=DURATION] [--] gpu run …"
        },
        description = {
            "Run a command of jnvdocker when its GPUs are free, and print the number of its job.",
            "It waits in the queue without a terminal, also while the host reboots, and runs as"
                    + " you, by systemd. Its output is in the journal.",
            "It waits without limit, or for --gpu-wait=DURATION from its last start on."
        })
final class GpuSubmit extends OwnCommand {
    /** The variable with the number of the job; the C client has it too. */
    static final String JOB = "JNVDOCKER_JOB";

    private static final String WAIT = "NV_GPU_WAIT";
    private static final int LONGEST = 256 << 10;

    private final Jobs jobs;
    private final ClientRequest request;
    private final ClientConnection client;

    @Mixin private final GpuWait.Typed gpuWait = new GpuWait.Typed();

    @Parameters(
            paramLabel = "COMMAND",
            arity = "1..*",
            description = "run or gpu run, as after jnvdocker.")
    private List<String> command;

    private GpuSubmit(Jobs jobs, ClientRequest request, ClientConnection client) {
        this.jobs = jobs;
        this.request = request;
        this.client = client;
    }

    static CommandLine command(Jobs jobs, ClientRequest request, ClientConnection client) {
        return new CommandLine(new GpuSubmit(jobs, request, client)).setStopAtPositional(true);
    }

    @Override
    public CommandOutcome call() throws IOException, RefusedException {
        if (!jobs.units().isSystemdThere()) {
            throw new RefusedException(
                    "jobs are run by systemd, which does not run here",
                    "wait without it: nohup jnvdocker run --gpu-wait … &");
        }
        Owner owner = Caller.owner(request);
        checkCommand();
        Job.Request whole = new Job.Request(request.directory(), command, environment(owner));
        checkLength(
                "the command and the environment",
                Stream.concat(whole.command().stream(), whole.environment().stream()));
        Job job = jobs.submit(request.peer().uid(), owner, JobCommands.title(command), whole);
        print(Long.toString(job.id()));
        client.message(
                "job "
                        + job.id()
                        + " waits for its GPUs; 'jnvdocker gpu jobs' shows it, 'journalctl -u "
                        + JobUnits.name(job.id()).replace(".service", "")
                        + "' its output");
        return CommandOutcome.OK;
    }

    private static void checkLength(String what, Stream<String> texts) throws RefusedException {
        long length = texts.mapToLong(String::length).sum();
        if (length > LONGEST) {
            throw new RefusedException(
                    what + " have " + length + " characters, and a job " + LONGEST + " at most",
                    "submit it with fewer variables: env -i PATH=\"$PATH\" HOME=\"$HOME\""
                            + " jnvdocker gpu submit …");
        }
    }

    private void checkCommand() throws IOException, RefusedException {
        List<String> words = DockerCommandLine.words(command);
        if (words.size() > 2 && words.subList(0, 2).equals(List.of("gpu", "run"))) {
            return;
        }
        DockerCommandLine typed =
                DockerCommandLine.parse(
                        command,
                        verb ->
                                client.capture(request.dockerWith(List.of(verb.word(), "--help")))
                                        .output());
        if (typed instanceof DockerCommandLine.LeaveToDocker) {
            throw new RefusedException(
                    "docker cannot read "
                            + Quote.quoted(JobCommands.title(command))
                            + ": it has an option that docker does not know, or no image",
                    "compare it with 'docker run --help'");
        }
        if (!(typed instanceof RunCommand run) || run.verb() != Verb.RUN) {
            throw new RefusedException(
                    Quote.quoted(JobCommands.title(command))
                            + " is no command that can be submitted",
                    "submit 'run' with its image, or 'gpu run' with its program");
        }
        for (String option : List.of("tty", "interactive")) {
            if (run.isSet(option)) {
                throw new RefusedException(
                        "a job has no terminal and no input, and --" + option + " needs one",
                        "leave out -i and -t");
            }
        }
        if (run.isSet("detach")) {
            client.message(
                    "with -d the job ends as soon as its container runs: then 'gpu jobs' and 'gpu"
                            + " cancel' know nothing of the container");
        }
    }

    /** All of the caller's variables, not only those of the request, and those of the job. */
    private List<String> environment(Owner owner) throws IOException, RefusedException {
        CallResult read = client.capture(List.of("base64", "/proc/self/environ"));
        if (!read.succeeded()) {
            throw new FailedException(
                    "cannot read your environment: base64 has failed",
                    "install coreutils, or let PATH lead to them");
        }
        Map<String, String> variables = new TreeMap<>();
        String text = RawText.decode(Base64.getMimeDecoder().decode(read.output()));
        checkLength("the variables", Stream.of(text));
        for (String variable : text.split("\0")) {
            int equals = variable.indexOf('=');
            if (equals > 0) {
                variables.put(variable.substring(0, equals), variable.substring(equals + 1));
            }
        }
        boolean waits = GpuWait.of(gpuWait.value(), request, client).isPresent();
        if (gpuWait.value().isPresent()) {
            variables.put(WAIT, gpuWait.value().get());
        } else if (!waits) {
            variables.put(WAIT, "forever");
        }
        if (Caller.isRoot(request) && owner.uid() != 0) {
            variables.put("SUDO_UID", Integer.toUnsignedString(owner.uid()));
        }
        // Those of a job that submits this one.
        List.of(JOB, "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "JNVDOCKER_ROUNDS")
                .forEach(variables::remove);
        List<String> all = new ArrayList<>();
        variables.forEach((name, value) -> all.add(name + "=" + value));
        return all;
    }
}
