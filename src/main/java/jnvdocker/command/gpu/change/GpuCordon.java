package jnvdocker.command.gpu.change;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.CommandOutcome;
import jnvdocker.command.gpu.view.GpuView;
import jnvdocker.host.Gpu;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.util.List;

@Command(
        name = "cordon",
        description = {
            "Take GPUs out of service (root only): they get no new container. What runs on them"
                    + " goes on.",
            "A cordon lasts until 'jnvdocker gpu uncordon', across restarts of the daemon and the"
                    + " host."
        })
public final class GpuCordon extends NamedGpus {
    @Option(
            names = "--reason",
            paramLabel = "TEXT",
            defaultValue = "",
            description = "Shown in refusals. At most " + TypedReason.LONGEST + " characters.")
    private String reason;

    public GpuCordon(GpuView view, ClientRequest request) {
        super(view, request);
    }

    @Override
    public CommandOutcome call() throws IOException, RefusedException {
        TypedReason.check(reason, this);
        List<Gpu> gpus = find("cordon");
        for (Gpu gpu : gpus) {
            if (!gpu.isIdentified() || !gpu.hasUuid()) {
                throw new RefusedException(
                        "GPU %s at %s has no UUID by which to remember the cordon"
                                .formatted(gpu.number(), gpu.pciAddress()),
                        "cordon it in the configuration by its PCI address");
            }
        }
        leases().cordons().add(gpus, Caller.owner(request()), reason.strip());
        print("cordoned " + names(gpus));
        return CommandOutcome.OK;
    }
}
