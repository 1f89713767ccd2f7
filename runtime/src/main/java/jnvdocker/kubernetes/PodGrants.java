package jnvdocker.kubernetes;

import jnvdocker.grant.PodLeases;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Lease;
import jnvdocker.posix.ProcessId;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.time.Duration;
import java.util.List;

/** Where a device plugin takes leases: see {@link PodLeases}. Both may wait for the disk. */
interface PodGrants {
    void reserve(List<Gpu> gpus, ProcessId kubelet) throws RefusedException, IOException;

    List<Lease> take(PodLeases.Start start, Duration patience) throws RefusedException, IOException;

    static PodGrants of(PodLeases leases) {
        return new PodGrants() {
            @Override
            public void reserve(List<Gpu> gpus, ProcessId kubelet)
                    throws RefusedException, IOException {
                leases.reserve(gpus, kubelet);
            }

            @Override
            public List<Lease> take(PodLeases.Start start, Duration patience)
                    throws RefusedException, IOException {
                return leases.take(start, patience);
            }
        };
    }
}
