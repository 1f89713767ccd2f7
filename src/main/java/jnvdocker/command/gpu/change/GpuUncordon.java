package jnvdocker.command.gpu.change;

import jnvdocker.command.caller.CommandOutcome;
import jnvdocker.command.gpu.view.GpuView;
import jnvdocker.host.Gpu;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;

import java.io.IOException;
import java.util.List;

@Command(name = "uncordon", description = "Return cordoned GPUs to service (root only).")
public final class GpuUncordon extends NamedGpus {
    public GpuUncordon(GpuView view, ClientRequest request) {
        super(view, request);
    }

    @Override
    public CommandOutcome call() throws IOException, RefusedException {
        List<Gpu> gpus = find("uncordon");
        List<Gpu> unchanged = leases().cordons().remove(gpus);
        List<Gpu> changed = gpus.stream().filter(gpu -> !unchanged.contains(gpu)).toList();
        if (!changed.isEmpty()) {
            print("uncordoned " + names(changed));
        }
        if (!unchanged.isEmpty()) {
            print("not cordoned: " + names(unchanged));
        }
        return CommandOutcome.OK;
    }
}
