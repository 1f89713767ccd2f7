package jnvdocker.command.gpu.change;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.GpuWait;
import jnvdocker.command.caller.HoldTime;
import jnvdocker.command.caller.SlurmGpus;
import jnvdocker.core.Leases;
import jnvdocker.grant.Grant;
import jnvdocker.grant.LeaseRequest;
import jnvdocker.grant.Waiting;
import jnvdocker.host.GpuInventory;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Origin;
import jnvdocker.posix.ProcessId;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.IParameterPreprocessor;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.Stack;
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
            "CUDA_VISIBLE_DEVICES names them by UUID."
        })
public final class GpuRun implements Callable<Integer>, Successor {
    private static final String VARIABLE = "CUDA_VISIBLE_DEVICES";
    private static final String WAIT = "--gpu-wait";

    private final List<String> typed;
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

    @Option(
            names = WAIT,
            paramLabel = "DURATION",
            arity = "0..1",
            preprocessor = Attached.class,
            description =
                    "Wait for GPUs that are held by others, for DURATION (90s, 30m, 1d12h), or"
                        + " without limit. A client that ends, or whose terminal hangs up, loses"
                        + " its place in the queue: keep it in tmux or under nohup.")
    private String gpuWait;

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

    /**
     * @param typed the words after {@code gpu}; picocli has them, too, but its model of the
     *     commands would stay in memory as long as the client waits
     */
    public GpuRun(
            List<String> typed,
            GpuInventory inventory,
            Leases leases,
            ClientRequest request,
            ClientConnection client) {
        this.typed = List.copyOf(typed);
        this.inventory = inventory;
        this.leases = leases;
        this.request = request;
        this.client = client;
    }

    /** A duration needs an equals sign before it: the next word may be the program. */
    static final class Attached implements IParameterPreprocessor {
        @Override
        public boolean preprocess(
                Stack<String> arguments,
                CommandSpec commandSpec,
                ArgSpec option,
                Map<String, Object> info) {
            if (!"=".equals(info.get("separator"))) {
                arguments.push("true");
            }
            return false;
        }
    }

    @Override
    public Integer call() throws IOException, RefusedException {
        if (isBehindWait()) {
            GpuWait.refuseDuration(command.getFirst(), "program");
        }
        waiting = GpuWait.of(Optional.ofNullable(gpuWait), request, client);
        time = HoldTime.of(Optional.ofNullable(gpuTime));
        wanted = Optional.of(wanted());
        return ExitCode.OK.code();
    }

    /** Whether the command follows {@code --gpu-wait} directly. */
    private boolean isBehindWait() {
        int before = typed.size() - command.size() - 1;
        return before >= 0 && typed.get(before).equals(WAIT);
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

    private static String name(String word) {
        return Quote.shown(word.substring(word.lastIndexOf('/') + 1));
    }

    @Override
    public boolean isReady() {
        return wanted.isPresent();
    }

    @Override
    public void start() throws IOException, RefusedException {
        try {
            become();
        } catch (RefusedException e) {
            leases.refused(Caller.owner(request), "gpu run of " + name(command.getFirst()), e);
            throw e;
        }
    }

    private void become() throws IOException, RefusedException {
        ProcessId process = Caller.process(request);
        Set<String> candidates =
                SlurmGpus.of(request, wanted.orElseThrow(), inventory)
                        .map(SlurmGpus::uuids)
                        .orElse(Set.of());
        LeaseRequest wish =
                new LeaseRequest(
                        wanted.orElseThrow(),
                        candidates,
                        Caller.owner(request),
                        process,
                        new Origin.HostProcess(name(command.getFirst())),
                        waiting,
                        time);
        Optional<Claim> claim;
        try (Grant<Claim> grant = leases.take(wish)) {
            if (grant.given().isPresent()) {
                Leases.gpus(grant.given().get(), inventory.read().gpus());
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
