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
 * Resolves paths that other users have named. One may be of a file system that does not answer:
 * that blocks a thread of its own, of which there are few, and not the one that calls.
 */
public final class HostPaths {
    private static final int AT_A_TIME = 8;

    private final DeviceNodes nodes;
    private final Duration limit;
    private final Map<Query, CompletableFuture<DeviceNodes.Reached>> underWay = new HashMap<>();

    /**
     * @param limit how long a caller waits for one path
     */
    public HostPaths(DeviceNodes nodes, Duration limit) {
        this.nodes = nodes;
        this.limit = limit;
    }

    /**
     * @param given whether docker gives the device there, or mounts it
     */
    private record Query(String path, boolean given) {
        /** The directory of devices, which no server can block; paths elsewhere do not delay it. */
        boolean isOfDev() {
            return path.startsWith("/dev/") && !path.contains("..");
        }
    }

    private interface Visit {
        DeviceNodes.Reached at(Path path) throws IOException;
    }

    /**
     * The nodes that docker gives for a path, see {@link DeviceNodes#given}.
     *
     * @throws IOException when its file system does not answer in time
     */
    public DeviceNodes.Reached given(String path) throws IOException {
        return reach(new Query(path, true), nodes::given);
    }

    /** The nodes that are seen where a path is mounted, see {@link DeviceNodes#seen}. */
    public DeviceNodes.Reached seen(String path) throws IOException {
        return reach(new Query(path, false), nodes::seen);
    }

    /** Scans a path, once at a time for all callers that request it. */
    private DeviceNodes.Reached reach(Query query, Visit visit) throws IOException {
        CompletableFuture<DeviceNodes.Reached> found;
        synchronized (underWay) {
            found = underWay.get(query);
            if (found == null) {
                found = new CompletableFuture<>();
                begin(query, visit, found);
            }
        }
        try {
            return found.get(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw unanswered(query.path());
        } catch (ExecutionException e) {
            throw e.getCause() instanceof IOException io
                    ? io
                    : new IOException(e.getCause().getMessage(), e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw unanswered(query.path());
        }
    }

    private void begin(Query query, Visit visit, CompletableFuture<DeviceNodes.Reached> found)
            throws IOException {
        if (underWay.keySet().stream().filter(it -> it.isOfDev() == query.isOfDev()).count()
                >= AT_A_TIME) {
            throw new IOException(
                    "%s was not read: file systems of %s other paths do not answer"
                            .formatted(Quote.quoted(query.path()), AT_A_TIME));
        }
        underWay.put(query, found);
        // A native call of a virtual thread would block others with it.
        Thread.ofPlatform()
                .daemon()
                .name("read " + Quote.shown(query.path()))
                .start(() -> perform(query, visit, found));
    }

    private void perform(Query query, Visit visit, CompletableFuture<DeviceNodes.Reached> found) {
        try {
            DeviceNodes.Reached reached = visit.at(Path.of(query.path()));
            end(query);
            found.complete(reached);
        } catch (IOException | RuntimeException | Error e) {
            end(query);
            found.completeExceptionally(e);
        }
    }

    /** Called before the result is published: the next request begins another scan. */
    private void end(Query query) {
        synchronized (underWay) {
            underWay.remove(query);
        }
    }

    private IOException unanswered(String path) {
        return new IOException(
                "%s is of a file system that did not answer in %s ms"
                        .formatted(Quote.quoted(path), limit.toMillis()));
    }
}
