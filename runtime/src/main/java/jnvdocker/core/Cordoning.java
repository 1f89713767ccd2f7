package jnvdocker.core;

import jnvdocker.host.Gpu;
import jnvdocker.host.GpuTroubles;
import jnvdocker.lease.Cordon;
import jnvdocker.lease.Owner;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.supply.Supply;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Takes GPUs out by command: they get no new leases. */
public final class Cordoning {
    private static final Logger LOG = LoggerFactory.getLogger(Cordoning.class);

    private final LeaseRegistry registry;
    private final Supply supply;
    private final GpuTroubles troubles;

    Cordoning(LeaseRegistry registry, Supply supply, GpuTroubles troubles) {
        this.registry = registry;
        this.supply = supply;
        this.troubles = troubles;
    }

    /**
     * GPUs get no new leases from now on, until {@link #remove}. Holders keep theirs.
     *
     * @param reason for people; may be empty
     */
    public void add(List<Gpu> gpus, Owner by, String reason) throws IOException {
        for (Gpu gpu : gpus) {
            registry.cordon(gpu.uuid(), by, reason);
            LOG.info("GPU {} was cordoned by {}: {}", gpu.uuid(), by.name(), reason);
        }
    }

    /**
     * GPUs get leases again: those that were cordoned, and those of which an error was reported and
     * that were reset since.
     *
     * @return those that were neither cordoned nor faulty
     * @throws RefusedException when it is the configuration that cordons one
     */
    public List<Gpu> remove(List<Gpu> gpus) throws RefusedException, IOException {
        for (Gpu gpu : gpus) {
            if (supply.rules().cordons(gpu)) {
                Cordon cordon = new Cordon.ByFile();
                throw new RefusedException(
                        LeaseText.name(gpu.number(), gpu.uuid())
                                + " is "
                                + LeaseText.cordoned(cordon),
                        LeaseText.toUncordon(cordon, gpu));
            }
        }
        List<Gpu> unchanged = new ArrayList<>();
        for (Gpu gpu : gpus) {
            troubles.clearReportedFault(gpu);
            if (registry.uncordon(gpu.uuid())) {
                LOG.info("GPU {} was uncordoned", gpu.uuid());
            } else if (gpu.isSound()) {
                unchanged.add(gpu);
            }
        }
        return unchanged;
    }
}
