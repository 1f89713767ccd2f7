package jnvdocker.command.gpu.show;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.ShowCommand;
import jnvdocker.command.hosts.HostAnswer;
import jnvdocker.command.hosts.HostGpus;
import jnvdocker.command.hosts.HostQuery;
import jnvdocker.core.Leases;
import jnvdocker.grant.Grants;
import jnvdocker.host.Gpu;
import jnvdocker.host.HostName;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.request.GpuRequest;
import jnvdocker.screen.Column;
import jnvdocker.screen.Screen;
import jnvdocker.screen.Shown;
import jnvdocker.screen.TextTable;
import jnvdocker.words.Indices;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;
import jnvdocker.words.ShellWord;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

@Command(
        name = "find",
        description = {
            "Show which GPUs the caller would get now, without taking them; with --on, on which"
                    + " hosts.",
            "The host with the most free GPUs comes first. Exits with 1 if there is none."
        })
public final class GpuFind extends ShowCommand {
    private static final String NONE = "-";

    private final Leases leases;
    private final ClientRequest request;

    @Option(
            names = "--gpus",
            paramLabel = "GPUS",
            defaultValue = "1",
            description = "The request, as 'jnvdocker run' takes it (${DEFAULT-VALUE}).")
    private String gpus;

    @Option(
            names = {"-q", "--quiet"},
            description = "Print only the names of the hosts that have them.")
    private boolean quiet;

    @Mixin private final HostQuery hosts;

    public GpuFind(Leases leases, ClientRequest request, HostQuery hosts, Screen screen) {
        super(screen);
        this.leases = leases;
        this.request = request;
        this.hosts = hosts;
    }

    /** A GPU that would be given. */
    record FoundGpu(int index, Integer instance, String uuid, String model) {
        static FoundGpu of(Gpu gpu) {
            return new FoundGpu(
                    gpu.index(),
                    gpu.part().map(part -> part.number()).orElse(null),
                    gpu.uuid(),
                    gpu.model());
        }
    }

    /**
     * A host, as {@code --json} prints it.
     *
     * @param free how many of its GPUs nobody has or is to have; null if it is not known
     * @param gpus those that the request would get; none if it would be refused
     * @param refusal why it would be; null otherwise
     * @param error why nothing is known; null otherwise
     */
    record Found(String host, Integer free, List<FoundGpu> gpus, String refusal, String error) {
        boolean hasThem() {
            return !gpus.isEmpty();
        }

        private String model() {
            return gpus.stream().findFirst().map(FoundGpu::model).map(HostGpus::model).orElse(NONE);
        }

        private String note() {
            return Optional.ofNullable(error).or(() -> Optional.ofNullable(refusal)).orElse("");
        }
    }

    @Override
    protected Shown show() throws IOException, RefusedException {
        GpuRequest wanted = GpuRequest.parseOption(gpus);
        if (wanted instanceof GpuRequest.None) {
            throw new RefusedException(
                    "--gpus " + Quote.shown(gpus) + " requests no GPU", "request some: --gpus 1");
        }
        List<Found> found = new ArrayList<>();
        if (hosts.isRequested()) {
            for (HostAnswer answer :
                    hosts.run("jnvdocker gpu find --json --gpus " + ShellWord.quoted(gpus))) {
                found.add(read(answer));
            }
        } else {
            found.add(here(wanted));
        }
        found.sort(
                Comparator.comparing((Found it) -> !it.hasThem())
                        .thenComparingInt(it -> it.free() == null ? 0 : -it.free()));
        return new Report(found, quiet);
    }

    /**
     * @param quiet whether people get only the names of the hosts that have them
     */
    private record Report(List<Found> document, boolean quiet) implements Shown {
        @Override
        public List<String> lines(Screen screen) {
            return quiet
                    ? document.stream().filter(Found::hasThem).map(Found::host).toList()
                    : new TextTable<>(COLUMNS).lines(document, screen);
        }

        @Override
        public ExitCode exitCode() {
            return document.stream().anyMatch(Found::hasThem) ? ExitCode.OK : ExitCode.WRONG;
        }
    }

    private static final List<Column<Found>> COLUMNS =
            List.of(
                    Column.of("HOST", it -> Quote.shown(it.host())),
                    Column.of(
                            "GPU",
                            it ->
                                    it.hasThem()
                                            ? Indices.numbers(
                                                    it.gpus().stream().map(GpuFind::number))
                                            : NONE),
                    new Column<>("MODEL", Column.Cut.FIRST, Found::model),
                    Column.of("FREE", it -> it.free() == null ? NONE : it.free()),
                    Column.note("NOTE", Found::note));

    private Found here(GpuRequest wanted) throws IOException {
        Grants.Offer offer = leases.grants().offer(wanted, Caller.owner(request));
        return new Found(
                HostName.read(),
                offer.free(),
                offer.gpus().stream().map(FoundGpu::of).toList(),
                offer.refusal().map(RefusedException::getMessage).orElse(null),
                null);
    }

    private static Found read(HostAnswer answer) {
        if (answer.entries().size() != 1) {
            return new Found(
                    answer.host(),
                    null,
                    List.of(),
                    null,
                    answer.failure().orElse("its answer is of another version"));
        }
        JsonNode its = answer.entries().getFirst();
        return new Found(
                answer.host(),
                its.path("free").isInt() ? its.path("free").asInt() : null,
                its.path("gpus").valueStream().map(GpuFind::gpu).toList(),
                HostAnswer.note(its, "refusal").orElse(null),
                HostAnswer.note(its, "error").orElse(null));
    }

    private static FoundGpu gpu(JsonNode gpu) {
        return new FoundGpu(
                gpu.path("index").asInt(),
                gpu.path("instance").isInt() ? gpu.path("instance").asInt() : null,
                HostAnswer.name(gpu, "uuid").orElse(null),
                HostAnswer.name(gpu, "model").orElse(null));
    }

    private static String number(FoundGpu gpu) {
        return gpu.instance() == null ? "" + gpu.index() : gpu.index() + ":" + gpu.instance();
    }
}
