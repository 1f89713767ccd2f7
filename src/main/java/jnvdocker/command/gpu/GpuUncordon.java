package jnvdocker.command.gpu;

import jnvdocker.core.Leases;
import jnvdocker.host.Gpu;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.Callable;

@Command(name = "uncordon", description = "Return cordoned GPUs to service (root only).")
final class GpuUncordon implements Callable<Integer> {
    private final GpuView view;
    private final Leases leases;
    private final ClientRequest request;

    @Spec private CommandSpec spec;

    @Parameters(
            paramLabel = "GPU",
            arity = "1..*",
            description = "Its index, UUID or the beginning of that, or PCI address.")
    private List<String> ids;

    GpuUncordon(GpuView view, ClientRequest request) {
        this.view = view;
        this.leases = view.leases();
        this.request = request;
    }

    @Override
    public Integer call() throws IOException, RefusedException {
        List<Gpu> gpus = GpuCordon.find(ids, view, request, "uncordon");
        leases.uncordon(gpus);
        spec.commandLine().getOut().println("uncordoned " + GpuCordon.names(gpus));
        return ExitCode.OK.code();
    }
}
