package jnvdocker.command.start;

import jnvdocker.cuda.CudaVersions;
import jnvdocker.host.HostDriver;
import jnvdocker.labels.DriverFacts;
import jnvdocker.labels.GpuNeeds;
import jnvdocker.labels.Unchecked;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.words.RefusedException;

import java.io.IOException;

/** Holds what an image needs against the driver that is loaded. */
public final class NeedsCheck {
    private final CudaVersions cuda;

    public NeedsCheck(CudaVersions cuda) {
        this.cuda = cuda;
    }

    /**
     * @param client is told what passed only because a fact is not known
     * @throws RefusedException for what is not met
     */
    public void check(GpuNeeds needs, HostDriver driver, ClientConnection client)
            throws IOException, RefusedException {
        for (Unchecked unchecked : needs.check(facts(driver, needs))) {
            client.message(unchecked.message());
        }
    }

    /** Only who needs the CUDA version waits for it. */
    private DriverFacts facts(HostDriver driver, GpuNeeds needs) {
        return needs.dependOnCuda()
                ? cuda.facts(driver.version())
                : DriverFacts.of(driver.version());
    }
}
