package jnvdocker.command.start;

import jnvdocker.host.Gpu;
import jnvdocker.host.HostDriver;
import jnvdocker.labels.DriverFacts;
import jnvdocker.labels.GpuNeeds;
import jnvdocker.labels.Unchecked;
import jnvdocker.nvml.CudaVersions;
import jnvdocker.nvml.GpuFacts;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;

/** Checks the needs of an image against the loaded driver and the GPUs. */
public final class NeedsCheck {
    private final CudaVersions cuda;
    private final Function<Gpu, Optional<GpuFacts>> known;

    /**
     * @param known what NVML has reported about a GPU by now; must not wait for it
     */
    public NeedsCheck(CudaVersions cuda, Function<Gpu, Optional<GpuFacts>> known) {
        this.cuda = cuda;
        this.known = known;
    }

    /**
     * @param compat whether CUDA libraries of the image's own come before the driver's, if that is
     *     known; queried only where it matters
     * @param client is notified of needs that passed only because a fact is unknown, and of GPUs
     *     that 'all' leaves out
     * @return the UUIDs of the only GPUs that the image may be given; empty when it may any
     * @throws RefusedException for a need that is not met, by the driver or a GPU that is requested
     */
    public Set<String> check(
            GpuNeeds needs,
            GpuRequest request,
            HostDriver driver,
            Supplier<Optional<Boolean>> compat,
            ClientConnection client)
            throws IOException, RefusedException {
        DriverFacts facts = facts(driver, needs, compat);
        if (!needs.dependOnGpu() || driver.gpus().isEmpty() || request instanceof GpuRequest.None) {
            say(needs.check(facts), client);
            return Set.of();
        }
        SuitedGpus suited = new SuitedGpus(needs, facts, driver.gpus(), known);
        Set<String> candidates = suited.candidates(request);
        say(suited.unchecked(), client);
        if (request instanceof GpuRequest.All) {
            for (String line : suited.leftOut()) {
                client.message(line);
            }
        }
        return candidates;
    }

    private static void say(Iterable<Unchecked> all, ClientConnection client) throws IOException {
        for (Unchecked unchecked : all) {
            client.message(unchecked.message());
        }
    }

    /** Only images that need the CUDA version wait for it. */
    private DriverFacts facts(
            HostDriver driver, GpuNeeds needs, Supplier<Optional<Boolean>> compat) {
        DriverFacts facts =
                needs.dependOnCuda()
                        ? cuda.facts(driver.version())
                        : DriverFacts.of(driver.version());
        return needs.restOnCompat(facts)
                ? compat.get().map(facts::withCompat).orElse(facts)
                : facts;
    }
}
