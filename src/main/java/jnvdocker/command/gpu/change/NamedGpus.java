package jnvdocker.command.gpu.change;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.OwnCommand;
import jnvdocker.command.gpu.view.GpuView;
import jnvdocker.core.Leases;
import jnvdocker.host.Gpu;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.request.GpuResolver;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.util.List;
import java.util.stream.Collectors;

/** A command of an administrator, who names GPUs. */
abstract class NamedGpus extends OwnCommand {
    private final GpuView view;
    private final ClientRequest request;

    @Parameters(
            paramLabel = "GPU",
            arity = "1..*",
            description = "Its index, UUID or the beginning of that, or PCI address.")
    private List<String> ids;

    NamedGpus(GpuView view, ClientRequest request) {
        this.view = view;
        this.request = request;
    }

    final Leases leases() {
        return view.leases();
    }

    final ClientRequest request() {
        return request;
    }

    /**
     * Finds the GPUs.
     *
     * @throws RefusedException when the caller is not root, or an id matches no GPU
     */
    final List<Gpu> find(String verb) throws IOException, RefusedException {
        Caller.refuseUnlessRoot(request, verb + " a GPU");
        return GpuResolver.resolve(ids, view.gpus());
    }

    static String names(List<Gpu> gpus) {
        return gpus.stream()
                .map(gpu -> LeaseText.name(gpu.number(), gpu.uuid()))
                .collect(Collectors.joining(", "));
    }
}
