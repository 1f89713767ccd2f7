package jnvdocker.command.gpu;

import jnvdocker.command.caller.Caller;
import jnvdocker.core.Leases;
import jnvdocker.host.Gpu;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.request.GpuResolver;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;

@Command(
        name = "cordon",
        description = {
            "Take GPUs out of service (root only): they get no new container. What runs on them"
                    + " goes on.",
            "A cordon lasts until 'jnvdocker gpu uncordon', across restarts of the daemon and the"
                    + " host."
        })
final class GpuCordon implements Callable<Integer> {
    private final GpuView view;
    private final Leases leases;
    private final ClientRequest request;

    @Spec private CommandSpec spec;

    @Parameters(
            paramLabel = "GPU",
            arity = "1..*",
            description = "Its index, UUID or the beginning of that, or PCI address.")
    private List<String> ids;

    @Option(
            names = "--reason",
            paramLabel = "TEXT",
            defaultValue = "",
            description = "Shown in refusals. At most " + Reason.LONGEST + " characters.")
    private String reason;

    GpuCordon(GpuView view, ClientRequest request) {
        this.view = view;
        this.leases = view.leases();
        this.request = request;
    }

    @Override
    public Integer call() throws IOException, RefusedException {
        Reason.check(reason, spec);
        List<Gpu> gpus = find(ids, view, request, "cordon");
        for (Gpu gpu : gpus) {
            if (!gpu.isIdentified() || !gpu.hasUuid()) {
                throw new RefusedException(
                        "GPU "
                                + gpu.number()
                                + " at "
                                + gpu.pciAddress()
                                + " has no UUID by which to remember the cordon",
                        "cordon it in the configuration by its PCI address");
            }
        }
        leases.cordon(gpus, Caller.owner(request), reason.strip());
        spec.commandLine().getOut().println("cordoned " + names(gpus));
        return ExitCode.OK.code();
    }

    /**
     * Finds the GPUs that an administrator names.
     *
     * @throws RefusedException when the caller is not root, or an id matches no GPU
     */
    static List<Gpu> find(List<String> ids, GpuView view, ClientRequest request, String verb)
            throws IOException, RefusedException {
        Caller.refuseUnlessRoot(request, verb + " a GPU");
        return GpuResolver.resolve(ids, view.gpus());
    }

    static String names(List<Gpu> gpus) {
        return gpus.stream()
                .map(gpu -> LeaseText.name(gpu.number(), gpu.uuid()))
                .collect(Collectors.joining(", "));
    }
}
