package jnvdocker.command.runtime;

import jnvdocker.container.CompatLibraries;
import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.docker.engine.EngineFacts;
import jnvdocker.docker.engine.EngineObjects;
import jnvdocker.grant.Grant;
import jnvdocker.grant.Waiting;
import jnvdocker.host.Gpu;
import jnvdocker.host.HostDriver;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Request;
import jnvdocker.oci.lease.OciContainers;
import jnvdocker.oci.lease.OciCreation;
import jnvdocker.oci.spec.ContainerTexts;
import jnvdocker.oci.spec.DockerContainer;
import jnvdocker.oci.spec.GpuWish;
import jnvdocker.oci.spec.ImageFiles;
import jnvdocker.oci.spec.Majors;
import jnvdocker.posix.FileErrors;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;

/**
 * {@code runtime wait}: {@code jnvdockerd --proxy} holds back the start of a container until its
 * GPUs are reserved for it. The client has the place in the queue, in the name of the container's
 * owner, and then the reservation, until it is ended or our OCI runtime creates the container. What
 * the container requests is decided again then, and refused if it is: what is found here is for the
 * queue alone.
 */
public final class RuntimeWait {
    /** The line that is printed when the GPUs are reserved. */
    public static final String RESERVED = "reserved";

    static final String WORD = "wait";

    private static final Duration LIMIT = Duration.ofSeconds(20);

    private final OciParts parts;
    private final RefusedWaits refused;
    private final DockerEngine engine;
    private final ImageFiles images = new ImageFiles();

    /**
     * @param refused to which refusals are added
     * @param engine whose containers these are
     */
    public RuntimeWait(OciParts parts, RefusedWaits refused, DockerEngine engine) {
        this.parts = parts;
        this.refused = refused;
        this.engine = engine;
    }

    /**
     * @param words the container's id
     */
    void run(List<String> words, ClientRequest request, ClientConnection client)
            throws IOException, RefusedException {
        RuntimeCalls.refuseUnless(words.size() == 2 && RuntimeCalls.isId(words.get(1)));
        RuntimeCalls.refuseOthersThanEngines(request);
        String id = words.get(1);
        try {
            Optional<Start> start = start(id, request, client);
            if (start.isPresent()) {
                reserve(id, start.get(), client);
            } else {
                client.exit(ExitCode.OK);
            }
        } catch (RefusedException e) {
            refused.put(id, e);
            throw e;
        }
    }

    /** A start that is to be waited for. */
    private record Start(Request request, Waiting waiting) {}

    /** Empty when nothing is to be waited for. */
    private Optional<Start> start(String id, ClientRequest request, ClientConnection client)
            throws IOException, RefusedException {
        AtomicLong taken = new AtomicLong();
        try {
            return start(
                    id,
                    request,
                    client,
                    bytes -> {
                        client.take(bytes);
                        taken.addAndGet(bytes);
                    });
        } catch (IOException e) {
            // Not those of the wait, most of which say that its client is gone.
            refused.put(id, new RefusedException(Refusal.of(FileErrors.describe(e))));
            throw e;
        } finally {
            // It may wait for days.
            client.give(taken.get());
        }
    }

    private Optional<Start> start(
            String id, ClientRequest request, ClientConnection client, ContainerTexts.Memory memory)
            throws IOException, RefusedException {
        HostDriver driver = parts.gpuHost().inventory().read();
        Majors majors = SeenHost.majors(parts.gpuHost().nodes(), driver.gpus());
        EngineFacts facts = engine.facts(LIMIT);
        ContainerTexts texts =
                ContainerTexts.beforeStart(Path.of(facts.dataRoot()), id, majors.gpu(), memory);
        CreateCall call = call(id, texts, request, client);
        Optional<OciCreation> wanted =
                isOurs(call.docker().orElseThrow(), facts)
                        ? wanted(call, driver.gpus(), majors).filter(OciCreation::isOfGpus)
                        : Optional.empty();
        // What compose starts in place of another container has that one's GPUs at once.
        boolean waits = wanted.isPresent() && !parts.containers().hasPredecessor(wanted.get());
        Optional<Waiting> waiting = waits ? call.waiting() : Optional.empty();
        return waiting.isPresent()
                ? Optional.of(
                        new Start(
                                request(call, wanted.get().request(), driver),
                                waiting.get().trying(() -> refuseMissing(id))))
                : Optional.empty();
    }

    /** A start whose network is gone fails after the wait. */
    private void refuseMissing(String id) throws RefusedException, IOException {
        Optional<EngineObjects.Needed> needed = engine.objects().needed(id, LIMIT);
        if (needed.isPresent()) {
            engine.objects().refuseMissing(needed.get(), LIMIT);
        }
    }

    private CreateCall call(
            String id, ContainerTexts texts, ClientRequest request, ClientConnection client) {
        return new CreateCall(
                new OciContainers.Container("", id),
                Path.of(""),
                Optional.empty(),
                texts.spec(),
                texts.spec().environment(),
                texts.docker(),
                texts.docker().flatMap(images::of),
                Optional.empty(),
                request,
                client);
    }

    /** Whether our runtime will create it, without a lease from the mount of a claim's volume. */
    private boolean isOurs(DockerContainer container, EngineFacts facts) {
        return engine.isGuarded(facts.runtimes().paths().getOrDefault(container.runtime(), ""))
                && container.volumes().values().stream()
                        .allMatch(volume -> ClaimNames.ofVolume(volume.name()).isEmpty());
    }

    private Request request(CreateCall call, Request its, HostDriver driver)
            throws IOException, RefusedException {
        // As for 'jnvdocker run': our runtime, which sees the image's files, decides about them.
        Set<String> candidates =
                parts.check(
                        call,
                        its.requested().request(),
                        driver,
                        () ->
                                Optional.of(CompatLibraries.areNamed(call.variables()))
                                        .filter(named -> named));
        // Nothing else of the texts about the container is kept while it waits.
        Origin origin = new Origin.OciContainer("", call.imageName().map(Quote::shown));
        return new Request(its.client(), its.requested(), origin, its.container())
                .among(candidates);
    }

    private void reserve(String id, Start start, ClientConnection client)
            throws IOException, RefusedException {
        try (Grant<Claim> grant =
                parts.leases().runs().take(start.request(), Optional.of(start.waiting()))) {
            parts.containers()
                    .reserve(
                            grant.given().orElseThrow(),
                            id,
                            start.request().container().orElseThrow());
            client.out(RESERVED);
            // Whose input ends with the proxy, and with the request that it serves.
            client.exec(List.of("cat"));
            grant.keep();
        }
    }

    /** Empty when it requests no GPUs. */
    private Optional<OciCreation> wanted(CreateCall call, List<Gpu> gpus, Majors majors)
            throws IOException, RefusedException {
        return wanted(parts.wish(call, gpus, majors), call, gpus);
    }

    private Optional<OciCreation> wanted(GpuWish wish, CreateCall call, List<Gpu> gpus)
            throws IOException, RefusedException {
        return switch (wish) {
            case GpuWish.Observing(GpuWish otherwise) ->
                    parts.observing(otherwise, call).isPresent()
                            ? Optional.empty()
                            : wanted(otherwise, call, gpus);
            case GpuWish.ClaimVolume _, GpuWish.Nothing _, GpuWish.Withheld _ -> Optional.empty();
            case GpuWish.Nodes(Set<Integer> minors, _) ->
                    Optional.of(parts.creation(call, NamedNodes.of(minors, gpus)));
            case GpuWish.Gpus(GpuRequest request, _, Set<Integer> named, _) ->
                    Optional.of(parts.creation(call, NamedNodes.with(request, named, gpus)));
            case GpuWish.Claimed(ClaimKey claim, GpuRequest request, Set<Integer> named) ->
                    Optional.of(parts.claimed(claim, call, NamedNodes.with(request, named, gpus)));
        };
    }
}
