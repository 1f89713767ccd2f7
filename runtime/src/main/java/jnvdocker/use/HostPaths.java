package jnvdocker.use;

import jnvdocker.host.DeviceNodes;
import jnvdocker.words.Quote;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Looks where paths lead that somebody else has named. One may be of a file system that does not
 * answer: that costs a thread of its own, of which there are few, and not the one that asks.
 */
public final class HostPaths {
    private static final int AT_A_TIME = 8;

    private final DeviceNodes nodes;
    private final Duration limit;
    private final Map<Asked, CompletableFuture<DeviceNodes.Reached>> underWay = new HashMap<>();

    /**
     * @param limit how long one look may take
     */
    public HostPaths(DeviceNodes nodes, Duration limit) {
        this.nodes = nodes;
        this.limit = limit;
    }

    /**
     * @param given whether docker gives the device there, or mounts it
     */
    private record Asked(String path, boolean given) {
        /** Where devices are, which hangs for no server: paths elsewhere don't hold it up. */
        boolean isOfDev() {
            return path.startsWith("/dev/") && !path.contains("..");
        }
    }

    private interface Look {
        DeviceNodes.Reached at(Path path) throws IOException;
    }

    /**
     * The nodes that docker gives for a path, see {@link DeviceNodes#given}.
     *
     * @throws IOException when its file system does not answer in time
     */
    public DeviceNodes.Reached given(String path) throws IOException {
        return reach(new Asked(path, true), nodes::given);
    }

    /** The nodes that are seen where a path is mounted, see {@link DeviceNodes#seen}. */
    public DeviceNodes.Reached seen(String path) throws IOException {
        return reach(new Asked(path, false), nodes::seen);
    }

    /** Scans a path, once at a time for all who request it. */
    private DeviceNodes.Reached reach(Asked asked, Look look) throws IOException {
        CompletableFuture<DeviceNodes.Reached> found;
        synchronized (underWay) {
            found = underWay.get(asked);
            if (found == null) {
                found = new CompletableFuture<>();
                begin(asked, look, found);
            }
        }
        try {
            return found.get(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw unanswered(asked.path());
        } catch (ExecutionException e) {
            throw e.getCause() instanceof IOException io
                    ? io
                    : new IOException(e.getCause().getMessage(), e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw unanswered(asked.path());
        }
    }

    private void begin(Asked asked, Look look, CompletableFuture<DeviceNodes.Reached> found)
            throws IOException {
        if (underWay.keySet().stream().filter(it -> it.isOfDev() == asked.isOfDev()).count()
                >= AT_A_TIME) {
            throw new IOException(
                    Quote.quoted(asked.path())
                            + " was not looked at: file systems of "
                            + AT_A_TIME
                            + " other paths do not answer");
        }
        underWay.put(asked, found);
        // A native call of a virtual thread would block others with it.
        Thread.ofPlatform()
                .daemon()
                .name("look at " + Quote.shown(asked.path()))
                .start(() -> perform(asked, look, found));
    }

    private void perform(Asked asked, Look look, CompletableFuture<DeviceNodes.Reached> found) {
        try {
            DeviceNodes.Reached reached = look.at(Path.of(asked.path()));
            end(asked);
            found.complete(reached);
        } catch (IOException | RuntimeException | Error e) {
            end(asked);
            found.completeExceptionally(e);
        }
    }

    /** Before anybody learns of the result: the next request begins another scan. */
    private void end(Asked asked) {
        synchronized (underWay) {
            underWay.remove(asked);
        }
    }

    private IOException unanswered(String path) {
        return new IOException(
                Quote.quoted(path)
                        + " is of a file system that did not answer in "
                        + limit.toMillis()
                        + " ms");
    }
}
