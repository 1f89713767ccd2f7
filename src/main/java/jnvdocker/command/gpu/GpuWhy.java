package jnvdocker.command.gpu;

import com.fasterxml.jackson.annotation.JsonUnwrapped;

import jnvdocker.grant.Leases;
import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.idle.IdleHolders;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.RefusedStart;
import jnvdocker.lease.Tenure;
import jnvdocker.nvml.GpuMonitor.Reading;
import jnvdocker.protocol.ExitCode;
import jnvdocker.request.GpuResolver;
import jnvdocker.screen.Json;
import jnvdocker.screen.Screen;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Predicate;
import java.util.function.Supplier;

@Command(
        name = "why",
        description = "Explain why a GPU is free or not, who had it before, and what to do.")
final class GpuWhy implements Callable<Integer> {
    private static final int PAST = 5;

    private final Host host;
    private final Leases leases;
    private final Supplier<Map<String, Reading>> readings;
    private final IdleHolders idle;
    private final Predicate<Owner> mayEnd;
    private final Screen screen;

    @Spec private CommandSpec spec;

    @Parameters(
            paramLabel = "GPU",
            description = "Its index, UUID or the beginning of that, or PCI address.")
    private String id;

    @Option(names = "--json", description = "Print JSON, with full UUIDs and ids.")
    private boolean json;

    /**
     * @param readings what NVML last told of each GPU, by PCI address
     * @param mayEnd whether the reader may end the uses of an owner
     */
    GpuWhy(
            Host host,
            Leases leases,
            Supplier<Map<String, Reading>> readings,
            IdleHolders idle,
            Predicate<Owner> mayEnd,
            Screen screen) {
        this.readings = readings;
        this.idle = idle;
        this.mayEnd = mayEnd;
        this.host = host;
        this.leases = leases;
        this.screen = screen;
    }

    @Override
    public Integer call() throws IOException, RefusedException {
        IdleNotes notes = new IdleNotes(idle.idle(), Instant.now());
        GpuStatus status = find(leases.status(HostDriver.read(host).gpus()));
        List<Lease> past = leases.pastOf(status.gpu(), PAST);
        List<String> sentences = new ArrayList<>(sentences(status, past, notes));
        leases.refusedStarts().stream()
                .filter(refused -> isOf(refused, status.gpu()))
                .forEach(refused -> sentences.add(Explanation.refused(refused)));
        status.lease().flatMap(AbsentAgent::sentence).ifPresent(sentences::add);
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(Json.text(document(status, sentences, past, notes)));
            leases.unwrittenEnd().ifPresent(spec.commandLine().getErr()::println);
            return ExitCode.OK.code();
        }
        sentences.forEach(out::println);
        leases.unwrittenEnd().ifPresent(out::println);
        if (!past.isEmpty()) {
            out.println();
            LeaseTable.withEnds(Instant.now())
                    .print(
                            visitor -> {
                                for (Lease lease : past) {
                                    visitor.visit(lease);
                                }
                            },
                            screen,
                            out::println);
        }
        return ExitCode.OK.code();
    }

    private static boolean isOf(RefusedStart refused, Gpu gpu) {
        return refused.claim().gpus().stream().anyMatch(its -> its.uuid().equals(gpu.uuid()));
    }

    /** A GPU that the driver no longer shows is known by its UUID alone. */
    private GpuStatus find(List<GpuStatus> all) throws RefusedException {
        boolean isUuid = GpuResolver.isUuid(id);
        List<Gpu> candidates =
                all.stream()
                        .filter(status -> isUuid || status.state() != GpuStatus.State.MISSING)
                        .map(GpuStatus::gpu)
                        .toList();
        Gpu found = GpuResolver.resolve(List.of(id), candidates).getFirst();
        return all.stream().filter(status -> status.gpu().equals(found)).findFirst().orElseThrow();
    }

    private List<String> sentences(GpuStatus status, List<Lease> past, IdleNotes notes)
            throws IOException {
        Explanation explanation = new Explanation(status, mayEnd, Instant.now());
        if (status.lease().isEmpty()) {
            return explanation.free(past.stream().findFirst());
        }
        Lease lease = status.lease().get();
        Tenure tenure = leases.tenures(List.of(lease)).get(lease.id());
        return explanation.held(lease, tenure, leases.explain(lease), notes.sentence(status));
    }

    private record Document(
            @JsonUnwrapped GpuJson gpu, String explanation, List<LeaseJson> pastLeases) {}

    private Document document(
            GpuStatus status, List<String> sentences, List<Lease> past, IdleNotes notes) {
        return new Document(
                GpuJson.of(
                        notes.on(List.of(status)).getFirst(),
                        Optional.ofNullable(readings.get().get(status.gpu().pciAddress())),
                        notes),
                String.join(" ", sentences),
                past.stream().map(LeaseJson::past).toList());
    }
}
