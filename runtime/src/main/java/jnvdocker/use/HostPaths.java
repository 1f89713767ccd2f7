package jnvdocker.use;

import jnvdocker.host.DeviceNodes;
import jnvdocker.words.Quote;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
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
    private final Semaphore places = new Semaphore(AT_A_TIME);

    /**
     * @param limit how long one look may take
     */
    public HostPaths(DeviceNodes nodes, Duration limit) {
        this.nodes = nodes;
        this.limit = limit;
    }

    private interface Look {
        DeviceNodes.Reached at(Path path) throws IOException;
    }

    /**
     * As {@link DeviceNodes#given}.
     *
     * @throws IOException when that can't be told in time
     */
    public DeviceNodes.Reached given(String path) throws IOException {
        return look(path, nodes::given);
    }

    /** As {@link DeviceNodes#seen}. */
    public DeviceNodes.Reached seen(String path) throws IOException {
        return look(path, nodes::seen);
    }

    private DeviceNodes.Reached look(String path, Look look) throws IOException {
        if (!places.tryAcquire()) {
            throw new IOException(
                    Quote.quoted(path)
                            + " was not looked at: file systems of "
                            + AT_A_TIME
                            + " other paths do not answer");
        }
        var found = new CompletableFuture<DeviceNodes.Reached>();
        // A native call of a virtual thread would block others with it.
        Thread.ofPlatform()
                .daemon()
                .name("look at " + Quote.shown(path))
                .start(() -> {
                    try {
                        found.complete(look.at(Path.of(path)));
                    } catch (IOException | RuntimeException e) {
                        found.completeExceptionally(e);
                    } finally {
                        places.release();
                    }
                });
        try {
            return found.get(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw unanswered(path);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof IOException io
                    ? io
                    : new IOException(e.getCause().getMessage(), e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw unanswered(path);
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
