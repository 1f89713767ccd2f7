package jnvdocker.kubelet;

import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;

import jnvdocker.kubernetes.Device;
import jnvdocker.kubernetes.DevicePlugin;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** The streams of the clients that watch the devices of a plugin; usually one kubelet. */
final class DeviceStreams implements AutoCloseable {
    private static final int MOST = 8;

    private final DevicePlugin plugin;
    private final Runnable changed;
    private final Set<Stream> open = new LinkedHashSet<>();
    private final DevicePlugin.Watch watch;

    /**
     * @param changed run for each stream that begins, or that the other side ends
     */
    DeviceStreams(DevicePlugin plugin, Runnable changed) {
        this.plugin = plugin;
        this.changed = changed;
        watch = plugin.watch(() -> all().forEach(Stream::send));
    }

    void open(ServerCallStreamObserver<byte[]> reader) {
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
    void end() {
        List<Stream> all;
        synchronized (open) {
            all = new ArrayList<>(open);
            open.clear();
        }
        all.forEach(Stream::end);
    }

    @Override
    public void close() {
        watch.close();
        end();
    }

    /**
     * One reader. It gets the latest list whenever it can take one: those that it was too slow for
     * are never sent.
     */
    private final class Stream {
        private final ServerCallStreamObserver<byte[]> reader;
        private Optional<List<Device>> sent = Optional.empty();
        private boolean over;

        Stream(ServerCallStreamObserver<byte[]> reader) {
            this.reader = reader;
        }

        synchronized void send() {
            if (over || reader.isCancelled() || !reader.isReady()) {
                return;
            }
            List<Device> devices = plugin.devices();
            if (!sent.equals(Optional.of(devices))) {
                sent = Optional.of(devices);
                reader.onNext(new DeviceList(devices).bytes().toByteArray());
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
