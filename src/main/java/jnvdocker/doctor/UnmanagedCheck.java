package jnvdocker.doctor;

import jnvdocker.core.Leases;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.posix.ProcessId;
import jnvdocker.use.GpuUse;
import jnvdocker.words.Quote;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Finds unmanaged use of GPUs. */
final class UnmanagedCheck implements Check {
    private final GpuCheck.Board board;
    private final Leases leases;

    UnmanagedCheck(GpuCheck.Board board, Leases leases) {
        this.board = board;
        this.leases = leases;
    }

    @Override
    public String name() {
        return "others";
    }

    @Override
    public List<Finding> findings() throws IOException {
        List<Finding> found = new ArrayList<>();
        for (GpuStatus gpu : board.status()) {
            gpu.unmanaged().forEach(use -> found.add(finding(gpu, use)));
        }
        leases.claimsOfUnknownGpus()
                .forEach((folder, process) -> found.add(unknown(folder, process)));
        return found.isEmpty() ? List.of(Finding.ok("nobody uses a GPU without a lease")) : found;
    }

    private static Finding unknown(String folder, ProcessId process) {
        return Finding.wrong(
                "the container of pid "
                        + process.pid()
                        + " has the claim of another jnvdocker mounted ("
                        + Quote.shown(folder)
                        + "), and its GPUs cannot be learnt from there",
                "put both daemons' state directories where each sees the other's, or cordon the"
                        + " other's GPUs in each configuration");
    }

    private static Finding finding(GpuStatus gpu, GpuUse use) {
        if (use.kind() == GpuUse.Kind.OTHER_CLAIM) {
            return Finding.wrong(
                    LeaseText.name(gpu.gpu().number(), gpu.gpu().uuid())
                            + " "
                            + LeaseText.used(use),
                    "stop it with its own engine's docker; let two daemons of one host give out"
                            + " different GPUs: cordon the other's in each configuration");
        }
        return Finding.wrong(
                LeaseText.name(gpu.gpu().number(), gpu.gpu().uuid()) + " " + LeaseText.used(use),
                use.container()
                                .map(container -> "docker stop " + Quote.shown(container.name()))
                                .or(() -> LeaseText.other(use).map(it -> Quote.shown(it.toStop())))
                                .orElseGet(() -> "have its user end it, or kill" + pid(use))
                        + (LeaseText.other(use).isPresent()
                                ? ", and start it with a lease (jnvdocker runtime --help)"
                                : ", and start it with jnvdocker run")
                        + "; or add it to ignore in the configuration");
    }

    private static String pid(GpuUse use) {
        return use.process().map(process -> " " + process.id().pid()).orElse("");
    }
}
