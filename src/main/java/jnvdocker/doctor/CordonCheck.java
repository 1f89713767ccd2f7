package jnvdocker.doctor;

import jnvdocker.core.Leases;
import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Finds cordoned and shareable GPUs in the configuration that this host does not have. */
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
        List<Gpu> gpus = HostDriver.read(host).gpus();
        List<Finding> findings = new ArrayList<>();
        add("cordon", leases.cordonsNothing(gpus), findings);
        add("shareable", leases.sharesNothing(gpus), findings);
        return findings.isEmpty()
                ? List.of(Finding.ok("every GPU under cordon in the configuration is present"))
                : findings;
    }

    private void add(String key, List<String> unknown, List<Finding> findings) {
        if (!unknown.isEmpty()) {
            findings.add(ConfiguredGpus.unknown(unknown, key, daemon));
        }
    }
}
