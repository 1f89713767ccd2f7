package jnvdocker.docker.engine;

import com.github.dockerjava.api.async.ResultCallback;
import com.github.dockerjava.api.model.Event;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.Closeable;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** The events of an engine, until it ends or nobody listens any more. */
final class EventStream extends ResultCallback.Adapter<Event> {
    private static final Logger LOG = LoggerFactory.getLogger(EventStream.class);

    private final Consumer<Event> listener;
    private final CountDownLatch ended = new CountDownLatch(1);
    private boolean closed;

    EventStream(Consumer<Event> listener) {
        this.listener = listener;
    }

    /** Returns whether it has ended within that time. */
    boolean awaitEnd(Duration limit) throws InterruptedException {
        return ended.await(limit.toMillis(), TimeUnit.MILLISECONDS);
    }

    /**
     * An engine that is starting answers late, and its answer makes docker-java reopen the stream
     * that was closed meanwhile.
     */
    @Override
    public synchronized void onStart(Closeable stream) {
        super.onStart(stream);
        if (closed) {
            try {
                super.close();
            } catch (IOException e) {
                LOG.debug("events that nobody listens to: {}", e.getMessage());
            }
        }
    }

    @Override
    public void onNext(Event event) {
        listener.accept(event);
    }

    @Override
    public void onError(Throwable failure) {
        LOG.debug("the engine's events have ended: {}", failure.getMessage());
        ended.countDown();
    }

    @Override
    public void onComplete() {
        ended.countDown();
    }

    @Override
    public synchronized void close() throws IOException {
        closed = true;
        super.close();
    }
}
