package jnvdocker.command.gpu.change;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.CommandOutcome;
import jnvdocker.command.caller.GpuWait;
import jnvdocker.command.caller.HoldTime;
import jnvdocker.command.caller.SlurmGpus;
import jnvdocker.command.gpu.view.Holding;
import jnvdocker.core.Leases;
import jnvdocker.core.RunClaims;
import jnvdocker.grant.Grant;
import jnvdocker.grant.Waiting;
import jnvdocker.host.GpuInventory;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Request;
import jnvdocker.posix.ProcessId;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;

/** {@code gpu run}: the client becomes a program of the host that has GPUs to itself. */
@Command(
        name = "run",
        synopsisHeading = "Usage: ",
        customSynopsis =
                "jnvdocker gpu run [--gpus GPUS] [--gpu-wait[=DURATION]] [--gpu-time DURATION] [--]"
                        + " COMMAND…",
        description = {
            "Run a program on the host, in no container, with GPUs of its own.",
            "Nobody else gets them until the program and everything that it started have ended.",
            "CUDA_VISIBLE_DEVICES names them by UUID.",
            "A client that waits and ends, or whose terminal hangs up, loses its place in the"
                    + " queue: keep it in tmux or under nohup."
        })
public final class GpuRun implements Callable<CommandOutcome> {
    private static final String VARIABLE = "CUDA_VISIBLE_DEVICES";

    /** The shell's exit code when it finds no program; no other failure of a shell has it. */
    private static final int NO_PROGRAM = 99;

    private final GpuInventory inventory;
    private final Leases leases;
    private final ClientRequest request;
    private final ClientConnection client;
    private Optional<GpuRequest> wanted = Optional.empty();
    private Optional<Waiting> waiting = Optional.empty();
    private Optional<Duration> time = Optional.empty();

    @Option(
            names = "--gpus",
            paramLabel = "GPUS",
            description =
                    "all, none, a number or device=<ids>, as for docker, a number of a kind, as"
                            + " count=2,memory=40G,model=A100, share=10G for a part of one that"
                            + " may be shared (accounted, not enforced), or with=<container>;"
                            + " default:"
                            + " NV_GPU, else 1.")
    private String gpus;

    @Mixin private final GpuWait.Typed gpuWait = new GpuWait.Typed();

    @Option(
            names = "--gpu-time",
            paramLabel = "DURATION",
            description = "How long the GPUs are wanted: shown to others, and overdue afterwards.")
    private String gpuTime;

    @Parameters(
            paramLabel = "COMMAND",
            arity = "1..*",
            description = "The program and its arguments.")
    private List<String> command;

    public GpuRun(
            GpuInventory inventory, Leases leases, ClientRequest request, ClientConnection client) {
        this.inventory = inventory;
        this.leases = leases;
        this.request = request;
        this.client = client;
    }

    @Override
    public CommandOutcome call() throws IOException, RefusedException {
        waiting =
                GpuWait.of(gpuWait.value(), request, client)
                        .map(it -> it.trying(this::refuseMissingProgram));
        time = HoldTime.of(Optional.ofNullable(gpuTime));
        wanted = Optional.of(wanted());
        return new CommandOutcome.Become(this::start);
    }

    private GpuRequest wanted() throws IOException, RefusedException {
        if (gpus != null) {
            return GpuRequest.parseOption(gpus);
        }
        Optional<GpuRequest> variable = GpuRequest.parseVariable(request.variable("NV_GPU"));
        String visible = request.variable(VARIABLE);
        // Slurm sets it in each job, and counts from 0 there.
        if (variable.isEmpty() && !visible.isBlank() && !SlurmGpus.areNamed(request)) {
            client.message(
                    VARIABLE
                            + "="
                            + Quote.shown(visible)
                            + " does not choose GPUs here, and is replaced; choose them with"
                            + " --gpus device="
                            + Quote.shown(visible));
        }
        return variable.orElseGet(() -> new GpuRequest.Count(1));
    }

    /** The shell finds programs as the client does. */
    private void refuseMissingProgram() throws RefusedException, IOException {
        String program = command.getFirst();
        int code =
                client.captureQuietly(
                                List.of(
                                        "sh",
                                        "-c",
                                        "command -v \"$1\" || exit " + NO_PROGRAM,
                                        "sh",
                                        program))
                        .exitCode();
        if (code == NO_PROGRAM) {
            throw new RefusedException(
                    "cannot run " + Quote.quoted(program) + ": there is no such program",
                    "name a program in PATH, or give its path");
        }
    }

    private static String name(String word) {
        return Quote.shown(word.substring(word.lastIndexOf('/') + 1));
    }

    private void start() throws IOException, RefusedException {
        try {
            become();
        } catch (RefusedException e) {
            leases.decisions()
                    .refused(Caller.owner(request), Holding.purpose(name(command.getFirst())), e);
            throw e;
        }
    }

    private void become() throws IOException, RefusedException {
        ProcessId process = Caller.process(request);
        Set<String> candidates =
                SlurmGpus.of(request, wanted.orElseThrow(), inventory)
                        .map(SlurmGpus::uuids)
                        .orElse(Set.of());
        Request wish =
                new Request(
                        wanted.orElseThrow(),
                        candidates,
                        Caller.owner(request),
                        process,
                        new Origin.HostProcess(name(command.getFirst())),
                        time);
        Optional<Claim> claim;
        try (Grant<Claim> grant = leases.runs().take(wish, waiting)) {
            if (grant.given().isPresent()) {
                RunClaims.gpus(grant.given().get(), inventory.read().gpus());
                leases.reservations().becomes(grant.given().get(), process);
            }
            claim = grant.keep();
        }
        String visible =
                claim.map(Claim::gpus).orElse(List.of()).stream()
                        .map(ClaimedGpu::uuid)
                        .collect(Collectors.joining(",", VARIABLE + "=", ""));
        // The last message to the client.
        client.program(List.of(visible), command);
    }
}
