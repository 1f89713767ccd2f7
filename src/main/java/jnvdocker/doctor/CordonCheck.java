package jnvdocker.doctor;

import jnvdocker.grant.Leases;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;

import java.io.IOException;
import java.util.List;

/** Finds cordons in the configuration that match no GPU. */
final class CordonCheck implements Check {
    private final Host host;
    private final Leases leases;
    private final DaemonFacts daemon;

    CordonCheck(Host host, Leases leases, DaemonFacts daemon) {
        this.host = host;
        this.leases = leases;
        this.daemon = daemon;
    }

    @Override
    public String name() {
        return "cordon";
    }

    @Override
    public List<Finding> findings() throws IOException {
        List<String> unknown = leases.cordonsNothing(HostDriver.read(host).gpus());
        if (unknown.isEmpty()) {
            return List.of(Finding.ok("every GPU under cordon in the configuration is present"));
        }
        return List.of(ConfiguredGpus.unknown(unknown, "cordon", daemon));
    }
}
