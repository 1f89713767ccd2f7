package jnvdocker.doctor;

import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.host.NoDriverException;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Checks the device nodes. A run makes missing nodes; docker does not when it starts a container on
 * its own.
 */
final class NodeCheck implements Check {
    private final Host host;
    private final DeviceNodes nodes;
    private final DaemonFacts daemon;

    NodeCheck(Host host, DeviceNodes nodes, DaemonFacts daemon) {
        this.host = host;
        this.nodes = nodes;
        this.daemon = daemon;
    }

    @Override
    public String name() {
        return "nodes";
    }

    @Override
    public List<Finding> findings() throws IOException {
        HostDriver driver = HostDriver.read(host);
        List<Finding> found = new ArrayList<>();
        try {
            nodes.faults(driver.gpus()).forEach(fault -> found.add(finding(fault)));
        } catch (NoDriverException e) {
            found.add(Finding.wrong(e));
        }
        if (!nodes.hasUvm()) {
            found.add(
                    Finding.wrong(
                            "the kernel module nvidia-uvm, without which CUDA does not work, is"
                                    + " not loaded",
                            "load it and make its nodes" + maker()));
        }
        return found.isEmpty()
                ? List.of(Finding.ok("the device nodes of the driver and its GPUs are there"))
                : found;
    }

    private Finding finding(DeviceNodes.Fault fault) {
        String device = fault.major() + ":" + fault.minor();
        String make =
                fault.made()
                        ? maker()
                        : ": mknod " + fault.path() + " c " + device.replace(':', ' ');
        if (fault.missing()) {
            return Finding.wrong(fault.path() + " is missing", "make it" + make);
        }
        return Finding.wrong(
                fault.path()
                        + " is not the character device "
                        + device
                        + " that the driver has now",
                "rm " + fault.path() + ", and make it again" + make);
    }

    private String maker() {
        return ", as jnvdocker-nodes.service does at boot: "
                + daemon.tree().resolve("bin/jnvdockerd")
                + " --make-nodes";
    }
}
