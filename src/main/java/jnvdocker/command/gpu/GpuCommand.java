package jnvdocker.command.gpu;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.CommandGroup;
import jnvdocker.command.caller.CommandOutcome;
import jnvdocker.command.caller.Installation;
import jnvdocker.command.caller.OwnCommands;
import jnvdocker.command.complete.Visible;
import jnvdocker.command.gpu.change.GpuBook;
import jnvdocker.command.gpu.change.GpuCordon;
import jnvdocker.command.gpu.change.GpuExtend;
import jnvdocker.command.gpu.change.GpuPrune;
import jnvdocker.command.gpu.change.GpuRelease;
import jnvdocker.command.gpu.change.GpuReload;
import jnvdocker.command.gpu.change.GpuRun;
import jnvdocker.command.gpu.change.GpuUncordon;
import jnvdocker.command.gpu.change.GpuUninstall;
import jnvdocker.command.gpu.history.GpuHistory;
import jnvdocker.command.gpu.history.GpuLeases;
import jnvdocker.command.gpu.history.GpuLimits;
import jnvdocker.command.gpu.history.GpuRefusals;
import jnvdocker.command.gpu.show.GpuDoctor;
import jnvdocker.command.gpu.show.GpuFind;
import jnvdocker.command.gpu.show.GpuIdle;
import jnvdocker.command.gpu.show.GpuLs;
import jnvdocker.command.gpu.show.GpuNeedsCommand;
import jnvdocker.command.gpu.show.GpuQueue;
import jnvdocker.command.gpu.show.GpuTop;
import jnvdocker.command.gpu.show.GpuVolume;
import jnvdocker.command.gpu.show.GpuWhy;
import jnvdocker.command.gpu.show.ImageSource;
import jnvdocker.command.gpu.view.GpuSettings;
import jnvdocker.command.gpu.view.GpuView;
import jnvdocker.command.gpu.view.Watch;
import jnvdocker.command.hosts.HostQuery;
import jnvdocker.command.job.JobCommands;
import jnvdocker.core.Leases;
import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.doctor.Doctor;
import jnvdocker.lease.Owner;
import jnvdocker.nvml.CudaVersions;
import jnvdocker.nvml.GpuFacts;
import jnvdocker.nvml.GpuMonitor.Reading;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.screen.Printout;
import jnvdocker.screen.Screen;
import jnvdocker.upkeep.Prune;
import jnvdocker.upkeep.Uninstall;
import jnvdocker.volume.GpuHost;
import jnvdocker.words.RefusedException;

import picocli.CommandLine;
import picocli.CommandLine.Command;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * {@code jnvdocker gpu …}: shows the GPUs of this host, their holders, and our records about them.
 */
public final class GpuCommand implements OwnCommands {
    private final GpuHost gpuHost;
    private final CudaVersions cuda;
    private final DockerEngine engine;
    private final GpuView view;
    private final Leases leases;
    private final Upkeep upkeep;
    private final GpuSettings settings;
    private final JobCommands jobs;
    private final Semaphore readingArchives = new Semaphore(1, true);
    private final Semaphore readingRoots = new Semaphore(1, true);

    /** The parts that examine, clean and end an installation, and read its configuration. */
    public record Upkeep(
            Doctor doctor,
            Prune prune,
            Uninstall uninstall,
            Installation installation,
            GpuReload.Reload reload) {}

    public GpuCommand(
            GpuHost gpuHost,
            CudaVersions cuda,
            DockerEngine engine,
            GpuView view,
            Upkeep upkeep,
            GpuSettings settings,
            JobCommands jobs) {
        this.gpuHost = gpuHost;
        this.cuda = cuda;
        this.engine = engine;
        this.view = view;
        this.leases = view.leases();
        this.upkeep = upkeep;
        this.settings = settings;
        this.jobs = jobs;
    }

    @Command(
            name = "jnvdocker gpu",
            description = "Show and manage this host's GPUs, their leases and the driver.",
            synopsisSubcommandLabel = "COMMAND")
    private static final class Gpu extends CommandGroup.Root {}

    @Override
    public CommandLine commands(ClientRequest request, ClientConnection client) {
        return new Call(List.of(), request, client).commands(Optional.empty());
    }

    /** What these commands show to every caller. */
    public Visible visible() {
        return Visible.of(gpuHost.host(), leases);
    }

    @Override
    public String name() {
        return "gpu";
    }

    @Override
    public void run(List<String> arguments, ClientRequest request, ClientConnection client)
            throws IOException, RefusedException {
        switch (new Call(arguments, request, client).execute()) {
            case CommandOutcome.Exit end -> client.exit(end.code());
            case CommandOutcome.Again again -> client.again(again.interval());
            case CommandOutcome.Become next -> next.start().run();
            case CommandOutcome.StopDaemon _ -> upkeep.installation().leave(client);
        }
    }

    /** One call of the client. */
    private final class Call {
        private final List<String> arguments;
        private final ClientRequest request;
        private final ClientConnection client;
        private final Screen screen;
        private final Printout out;

        Call(List<String> arguments, ClientRequest request, ClientConnection client) {
            this.arguments = arguments;
            this.request = request;
            this.client = client;
            this.screen = Screen.of(request);
            this.out = new Printout(client, Watch.mayBeRequested(arguments), screen);
        }

        CommandOutcome execute() throws IOException {
            StringWriter err = new StringWriter();
            CommandLine gpu = commands(arguments.stream().findFirst());
            gpu.setOut(new PrintWriter(out, true)).setErr(new PrintWriter(err, true));
            CommandOutcome outcome = CommandGroup.run(gpu, arguments);
            if (!err.toString().isEmpty()) {
                client.err(err.toString().stripTrailing());
            }
            if (outcome instanceof CommandOutcome.Again again) {
                new Watch.Round(arguments, again, screen).show(out.rest(), client);
            } else {
                out.end();
            }
            return outcome;
        }

        /**
         * @param word that comes first: if it is a command's name, no other command is made, since
         *     the model of all takes some 150 KB
         */
        CommandLine commands(Optional<String> word) {
            Map<String, Supplier<?>> all = new LinkedHashMap<>();
            all.put("ls", () -> new GpuLs(view, new HostQuery(client, settings.hosts()), screen));
            all.put("top", () -> new GpuTop(view, screen));
            all.put(
                    "find",
                    () ->
                            new GpuFind(
                                    leases,
                                    request,
                                    new HostQuery(client, settings.hosts()),
                                    screen));
            all.put("why", () -> new GpuWhy(view, mayEnd(request), screen));
            all.put("idle", () -> new GpuIdle(view.idle(), screen));
            all.put(
                    "run",
                    () ->
                            new CommandLine(
                                            new GpuRun(
                                                    gpuHost.inventory(), leases, request, client))
                                    .setStopAtPositional(true));
            all.putAll(jobs.commands(request, client, screen));
            all.put("leases", () -> new GpuLeases(leases, screen, out));
            all.put("queue", () -> new GpuQueue(leases, screen));
            all.put("book", () -> new GpuBook(view, settings.stopOverdue(), request, screen));
            all.put("limits", () -> new GpuLimits(leases, request, screen));
            all.put("refusals", () -> new GpuRefusals(leases, request, screen));
            all.put(
                    "history",
                    () ->
                            new GpuHistory(
                                    view,
                                    settings.keepHistory().get(),
                                    request.timeZone(),
                                    new HostQuery(client, settings.hosts()),
                                    screen,
                                    out));
            all.put("page", () -> new GpuPage(settings, request, client));
            all.put("extend", () -> new GpuExtend(leases, request));
            all.put("release", () -> new GpuRelease(leases, request));
            all.put("cordon", () -> new GpuCordon(view, request));
            all.put("uncordon", () -> new GpuUncordon(view, request));
            all.put(
                    "needs",
                    () ->
                            new GpuNeedsCommand(
                                    gpuHost.host(),
                                    cuda,
                                    images(request, client),
                                    GpuCommand.this::facts,
                                    screen));
            all.put("volume", () -> new GpuVolume(gpuHost, upkeep.prune(), request));
            all.put("doctor", () -> new GpuDoctor(upkeep.doctor(), screen));
            all.put("prune", () -> new GpuPrune(upkeep.prune(), request));
            all.put("reload", () -> new GpuReload(upkeep.reload(), request));
            all.put(
                    "uninstall",
                    () ->
                            new GpuUninstall(
                                    upkeep.uninstall(),
                                    upkeep.installation(),
                                    jobs::inTheWay,
                                    request));
            CommandLine gpu = new CommandLine(new Gpu());
            word.filter(all::containsKey)
                    .map(all::get)
                    .map(List::<Supplier<?>>of)
                    .orElseGet(() -> List.copyOf(all.values()))
                    .forEach(command -> gpu.addSubcommand(command.get()));
            return CommandGroup.of(gpu, request);
        }
    }

    private ImageSource images(ClientRequest request, ClientConnection client) {
        Semaphore turn = Caller.isRoot(request) ? readingRoots : readingArchives;
        return new ImageSource(engine, request, client, turn);
    }

    private Optional<GpuFacts> facts(jnvdocker.host.Gpu gpu) {
        return Optional.ofNullable(view.readings().get().get(gpu.pciAddress()))
                .flatMap(Reading::facts);
    }

    /** Root may end all uses, regardless of their owner. */
    private static Predicate<Owner> mayEnd(ClientRequest request) {
        boolean isRoot = Caller.isRoot(request);
        Owner reader = Caller.owner(request);
        return owner -> isRoot || owner.uid() == reader.uid();
    }
}
