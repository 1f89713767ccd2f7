package jnvdocker.kubernetes.kubelet;

import com.google.protobuf.ByteString;

import io.grpc.Status;
import io.grpc.StatusException;

import jnvdocker.kubernetes.DeviceEdits;
import jnvdocker.kubernetes.DevicePlugin;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;

/** Answers a kubelet's questions to a device plugin, from bytes to bytes. */
final class PluginCalls {
    private static final Logger LOG = LoggerFactory.getLogger(PluginCalls.class);

    /** More than a host has; a kubelet sends one container at a time. */
    private static final int MOST_IDS = 512;

    private static final int MOST_CONTAINERS = 64;

    /** {@code GPU-5c1a1003-…}, and {@code MIG-GPU-5c1a1003-…/1/0} of older drivers. */
    private static final Pattern ID = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._/:-]{0,127}");

    /** The longest delay of a start. */
    private static final Duration DELAY = Duration.ofSeconds(2);

    private static final int MOST_STARTS = 256;
    private static final String LATER =
            "wait, since the kubelet tries again ('jnvdocker gpu ls' shows who holds the GPUs)";

    private final DevicePlugin plugin;
    private final Semaphore starts = new Semaphore(MOST_STARTS);

    PluginCalls(DevicePlugin plugin) {
        this.plugin = plugin;
    }

    /** An answer that has failed is an empty one, with which a kubelet chooses by itself. */
    ByteString preferred(ByteString bytes) throws StatusException {
        PreferredRequest request = read("a choice", () -> PreferredRequest.parse(bytes));
        count(request.containers());
        List<List<String>> answers = new ArrayList<>();
        for (PreferredRequest.Choice choice : request.containers()) {
            check(choice.available());
            check(choice.included());
            if (choice.size() < 0 || choice.size() > MOST_IDS) {
                throw malformed("a choice of " + choice.size() + " devices");
            }
            answers.add(preferred(choice));
        }
        return new DeviceIds(answers).bytes();
    }

    private List<String> preferred(PreferredRequest.Choice choice) {
        try {
            return plugin.preferred(choice.available(), choice.included(), choice.size());
        } catch (RuntimeException e) {
            LOG.error("cannot choose from {}", choice.available(), e);
            return List.of();
        }
    }

    /** Several containers get all that they request, or nothing. */
    ByteString allocate(ByteString bytes) throws StatusException {
        List<List<String>> containers =
                read("an allocation", () -> DeviceIds.parse(bytes)).containers();
        count(containers);
        Set<String> all = new LinkedHashSet<>();
        for (List<String> ids : containers) {
            check(ids);
            all.addAll(ids);
        }
        try {
            if (containers.size() > 1) {
                plugin.allocate(List.copyOf(all));
            }
            List<AllocateAnswer.Container> answers = new ArrayList<>();
            for (List<String> ids : containers) {
                DeviceEdits edits = plugin.allocate(ids);
                answers.add(AllocateAnswer.Container.of(edits));
            }
            return new AllocateAnswer(answers).bytes();
        } catch (RefusedException e) {
            LOG.info("a pod gets no {}: {}", String.join(", ", all), e.getMessage());
            throw failure(Status.FAILED_PRECONDITION, e.refusal());
        } catch (RuntimeException e) {
            throw unexpected("Allocate", e);
        }
    }

    /**
     * Waits for the GPUs of a container, though never longer than the kubelet does.
     *
     * @param remaining until the kubelet gives up
     */
    ByteString start(ByteString bytes, Duration remaining) throws StatusException {
        List<String> ids = read("a start", () -> DeviceIds.parseOne(bytes));
        check(ids);
        Duration patience = GrpcServer.patience(remaining);
        if (!starts.tryAcquire()) {
            throw failure(
                    Status.UNAVAILABLE,
                    new Refusal(MOST_STARTS + " containers are waiting for their GPUs", LATER));
        }
        FutureTask<Void> start =
                new FutureTask<>(() -> {
                    plugin.start(ids, patience);
                    return null;
                });
        Thread.ofVirtual()
                .name("start")
                .start(() -> {
                    try {
                        start.run();
                    } finally {
                        starts.release();
                    }
                });
        await(start, ids, patience);
        return ByteString.EMPTY;
    }

    /**
     * A call that takes longer goes on in the background: the kubelet's next try gets its result.
     */
    private static void await(FutureTask<Void> start, List<String> ids, Duration patience)
            throws StatusException {
        try {
            start.get(patience.plus(DELAY).toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RefusedException refused) {
                throw failure(Status.UNAVAILABLE, refused.refusal());
            }
            throw unexpected("PreStartContainer", e.getCause());
        } catch (TimeoutException e) {
            throw failure(
                    Status.UNAVAILABLE,
                    new Refusal(
                            "the lease of " + String.join(", ", ids) + " takes too long", LATER));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw failure(Status.UNAVAILABLE, new Refusal("jnvdockerd is stopping", LATER));
        }
    }

    /** Reads a message. */
    private interface Read<T> {
        T read() throws IOException;
    }

    private static <T> T read(String what, Read<T> message) throws StatusException {
        try {
            return message.read();
        } catch (IOException e) {
            throw malformed("cannot read " + what + " (" + e.getMessage() + ")");
        }
    }

    private static void count(Collection<?> containers) throws StatusException {
        if (containers.size() > MOST_CONTAINERS) {
            throw malformed(containers.size() + " containers in one request");
        }
    }

    private static void check(List<String> ids) throws StatusException {
        if (ids.size() > MOST_IDS) {
            throw malformed(ids.size() + " devices in one request");
        }
        for (String id : ids) {
            if (!ID.matcher(id).matches()) {
                throw malformed(Quote.quoted(id) + " is no id of a device");
            }
        }
    }

    private static StatusException malformed(String what) {
        return failure(Status.INVALID_ARGUMENT, new Refusal(what, "see the kubelet's log"));
    }

    private static StatusException unexpected(String call, Throwable cause) {
        LOG.error("{} failed", call, cause);
        String reason = cause.getMessage() == null ? "an unknown error" : cause.getMessage();
        return failure(
                Status.INTERNAL,
                new Refusal(
                        "cannot answer " + call + " (" + reason + ")",
                        "see the log of jnvdockerd (journalctl -u jnvdocker)"));
    }

    private static StatusException failure(Status status, Refusal refusal) {
        return status.withDescription(GrpcServer.text(refusal)).asException();
    }
}
