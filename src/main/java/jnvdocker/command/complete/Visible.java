package jnvdocker.command.complete;

import jnvdocker.core.Leases;
import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.lease.GpuTime;
import jnvdocker.lease.Lease;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** The names that {@code gpu ls}, {@code gpu leases} and {@code gpu history} show to all. */
public interface Visible {
    List<Gpu> gpus() throws IOException;

    /** The leases that have not ended. */
    List<Lease> leases() throws IOException;

    /** The names of users who have had GPUs. */
    List<String> users() throws IOException;

    static Visible of(Host host, Leases leases) {
        return new Visible() {
            private static final Duration SPAN = Duration.ofDays(30);

            @Override
            public List<Gpu> gpus() throws IOException {
                return HostDriver.read(host).gpus();
            }

            @Override
            public List<Lease> leases() throws IOException {
                return leases.live();
            }

            @Override
            public List<String> users() throws IOException {
                GpuTime time = leases.gpuTime(Instant.now().minus(SPAN), Optional.empty());
                return time.users().stream().map(use -> use.owner().name()).toList();
            }
        };
    }
}
