package jnvdocker.mesos.agent;

import jnvdocker.core.Leases;
import jnvdocker.host.GpuInventory;
import jnvdocker.host.HostDriver;
import jnvdocker.nvml.CudaVersions;

import java.io.IOException;
import java.nio.file.Path;
import java.util.function.Supplier;

/**
 * The host that a Mesos agent offers.
 *
 * @param policy the policy for its tasks
 * @param config the file with that policy
 */
public record AgentHost(
        GpuInventory inventory,
        CudaVersions cuda,
        Leases leases,
        Supplier<MesosPolicy> policy,
        Path config) {

    /** Returns the agent's current flags. */
    AgentFlags flags(AgentFlags.Wanted wanted) throws IOException {
        HostDriver driver = inventory.read();
        AgentFlags.Facts facts =
                new AgentFlags.Facts(
                        driver.version(),
                        cuda.of(driver.version()),
                        leases.status(driver.gpus()),
                        config);
        return AgentFlags.of(wanted, facts, policy.get());
    }
}
