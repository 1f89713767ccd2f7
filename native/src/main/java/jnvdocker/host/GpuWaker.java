package jnvdocker.host;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Makes the driver initialize GPUs, which it does when a process opens a GPU's node, as nvidia-smi
 * would. That takes a second or two, and may never end on a broken GPU: so a child process does it,
 * once for each GPU, and callers wait for it for a limited time only.
 */
final class GpuWaker {
    private static final Duration LIMIT = Duration.ofSeconds(10);

    /**
     * Opens each of its arguments that is a node; {@code <>} would make a file if there were none.
     */
    private static final List<String> OPEN =
            List.of(
                    "/bin/sh",
                    "-c",
                    "for node; do ([ -c \"$node\" ] && exec 3<> \"$node\") 2> /dev/null & done;"
                            + " wait",
                    "sh");

    private final DeviceNodes nodes;
    private final List<String> program;
    private final Duration limit;

    /** The PCI addresses of the GPUs that were tried and are still silent. */
    private final Set<String> tried = new HashSet<>();

    private CompletableFuture<Void> underWay = CompletableFuture.completedFuture(null);

    GpuWaker(DeviceNodes nodes) {
        this(nodes, OPEN, LIMIT);
    }

    /** Has another program open the nodes that it gets as arguments. */
    GpuWaker(DeviceNodes nodes, List<String> program, Duration limit) {
        this.nodes = nodes;
        this.program = List.copyOf(program);
        this.limit = limit;
    }

    /**
     * Wakes the GPUs that it has not yet tried to wake, and waits until that is done.
     *
     * @param silent all GPUs that the driver does not identify
     * @return whether the driver may report more by now
     */
    boolean wake(List<Gpu> silent) {
        CompletableFuture<Void> done;
        synchronized (this) {
            tried.retainAll(silent.stream().map(Gpu::pciAddress).toList());
            List<Gpu> fresh = silent.stream().filter(gpu -> tried.add(gpu.pciAddress())).toList();
            if (!fresh.isEmpty()) {
                CompletableFuture<Void> before = underWay;
                CompletableFuture<Void> next = new CompletableFuture<>();
                Thread.ofPlatform()
                        .daemon()
                        .name("wake")
                        .start(() -> {
                            try {
                                open(fresh);
                            } finally {
                                next.complete(null);
                            }
                        });
                underWay = CompletableFuture.allOf(before, next);
            }
            done = underWay;
        }
        if (silent.isEmpty() || done.isDone()) {
            return false;
        }
        try {
            done.get(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            // They stay without a UUID, and a request for one of them is refused with that reason.
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return true;
    }

    private void open(List<Gpu> gpus) {
        List<String> words = new ArrayList<>(program);
        for (Gpu gpu : gpus) {
            try {
                Path node = nodes.of(gpu).hostPath();
                words.add(node.toString());
            } catch (IOException e) {
                // A GPU without a node cannot be opened.
            }
        }
        if (words.size() > program.size()) {
            run(words);
        }
    }

    private void run(List<String> words) {
        ProcessBuilder builder = new ProcessBuilder(words);
        builder.environment().clear();
        try {
            Process process =
                    builder.redirectOutput(ProcessBuilder.Redirect.DISCARD)
                            .redirectError(ProcessBuilder.Redirect.DISCARD)
                            .start();
            try {
                process.getOutputStream().close();
                process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } finally {
                process.descendants().forEach(ProcessHandle::destroyForcibly);
                process.destroyForcibly();
            }
        } catch (IOException e) {
            // Treated as if the GPUs did not open.
        }
    }
}
