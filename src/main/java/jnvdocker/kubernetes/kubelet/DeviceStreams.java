package jnvdocker.kubernetes.kubelet;

import com.google.protobuf.ByteString;

import io.grpc.ServerCallHandler;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/** The streams of the clients that watch a list of devices; usually one kubelet. */
public final class DeviceStreams {
    private static final int MOST = 8;

    private final Supplier<ByteString> devices;
    private final Runnable changed;
    private final Set<Stream> open = new LinkedHashSet<>();

    /**
     * @param devices the message with the list as it is now; must not wait
     * @param changed run for each stream that begins, or that the other side ends
     */
    public DeviceStreams(Supplier<ByteString> devices, Runnable changed) {
        this.devices = devices;
        this.changed = changed;
    }

    /** Handles the call by which a client watches. */
    public ServerCallHandler<byte[], byte[]> handler() {
        return ServerCalls.asyncServerStreamingCall(
                (_, reader) -> open((ServerCallStreamObserver<byte[]>) reader));
    }

    /** Sends the list to all whom it was not sent to as it is now. For any thread. */
    public void send() {
        all().forEach(Stream::send);
    }

    private void open(ServerCallStreamObserver<byte[]> reader) {
        Stream stream = new Stream(reader);
        synchronized (open) {
            if (open.size() >= MOST) {
                reader.onError(
                        Status.RESOURCE_EXHAUSTED
                                .withDescription(
                                        "jnvdocker: " + MOST + " others watch these devices")
                                .asException());
                return;
            }
            open.add(stream);
        }
        reader.setOnReadyHandler(stream::send);
        reader.setOnCancelHandler(() -> left(stream));
        stream.send();
        changed.run();
    }

    private void left(Stream stream) {
        boolean was;
        synchronized (open) {
            was = open.remove(stream);
        }
        if (was) {
            changed.run();
        }
    }

    private List<Stream> all() {
        synchronized (open) {
            return new ArrayList<>(open);
        }
    }

    int count() {
        synchronized (open) {
            return open.size();
        }
    }

    /** Ends the streams that there are. */
    public void end() {
        List<Stream> all;
        synchronized (open) {
            all = new ArrayList<>(open);
            open.clear();
        }
        all.forEach(Stream::end);
    }

    /**
     * One reader. It gets the latest list whenever it can take one: those that it was too slow for
     * are never sent.
     */
    private final class Stream {
        private final ServerCallStreamObserver<byte[]> reader;
        private Optional<ByteString> sent = Optional.empty();
        private boolean over;

        Stream(ServerCallStreamObserver<byte[]> reader) {
            this.reader = reader;
        }

        synchronized void send() {
            if (over || reader.isCancelled() || !reader.isReady()) {
                return;
            }
            Optional<ByteString> now = Optional.of(devices.get());
            if (!sent.equals(now)) {
                sent = now;
                reader.onNext(now.get().toByteArray());
            }
        }

        synchronized void end() {
            if (!over && !reader.isCancelled()) {
                over = true;
                reader.onCompleted();
            }
        }
    }
}
