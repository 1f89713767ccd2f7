package jnvdocker.doctor;

import jnvdocker.labels.Quote;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Refusals;
import jnvdocker.use.GpuUse;

import java.io.IOException;
import java.util.List;

/** Who uses GPUs behind our back. */
final class StrangerCheck implements Check {
    private final GpuCheck.Board board;

    StrangerCheck(GpuCheck.Board board) {
        this.board = board;
    }

    @Override
    public String name() {
        return "others";
    }

    @Override
    public List<Finding> look() throws IOException {
        List<Finding> found =
                board.status().stream()
                        .flatMap(gpu -> gpu.strangers().stream().map(use -> finding(gpu, use)))
                        .toList();
        return found.isEmpty() ? List.of(Finding.ok("nobody uses a GPU without having it")) : found;
    }

    private static Finding finding(GpuStatus gpu, GpuUse use) {
        return Finding.wrong(
                Refusals.name(gpu.gpu().index(), gpu.gpu().uuid()) + " " + Refusals.used(use),
                use.container()
                                .map(container -> "docker stop " + Quote.shown(container.name()))
                                .orElseGet(() -> "ask its user to end it, or kill" + pid(use))
                        + ", and start it with jnvdocker run; or name it in the configuration"
                        + " (ignore) if it does not count");
    }

    private static String pid(GpuUse use) {
        return use.process().map(process -> " " + process.id().pid()).orElse("");
    }
}
