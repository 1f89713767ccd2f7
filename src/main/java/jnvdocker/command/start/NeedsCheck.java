package jnvdocker.command.start;

import jnvdocker.cuda.CudaVersions;
import jnvdocker.host.HostDriver;
import jnvdocker.labels.DriverFacts;
import jnvdocker.labels.GpuNeeds;
import jnvdocker.labels.Unchecked;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.words.RefusedException;

import java.io.IOException;

/** Checks the needs of an image against the loaded driver. */
public final class NeedsCheck {
    private final CudaVersions cuda;

    public NeedsCheck(CudaVersions cuda) {
        this.cuda = cuda;
    }

    /**
     * @param client is told of needs that passed only because a fact is unknown
     * @throws RefusedException for a need that is not met
     */
    public void check(GpuNeeds needs, HostDriver driver, ClientConnection client)
            throws IOException, RefusedException {
        for (Unchecked unchecked : needs.check(facts(driver, needs))) {
            client.message(unchecked.message());
        }
    }

    /** Only images that need the CUDA version wait for it. */
    private DriverFacts facts(HostDriver driver, GpuNeeds needs) {
        return needs.dependOnCuda()
                ? cuda.facts(driver.version())
                : DriverFacts.of(driver.version());
    }
}
