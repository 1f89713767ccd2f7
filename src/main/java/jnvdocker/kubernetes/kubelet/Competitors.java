package jnvdocker.kubernetes.kubelet;

import com.google.protobuf.ByteString;

import io.grpc.Status;

import jnvdocker.kubernetes.Device;
import jnvdocker.request.GpuResolver;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/**
 * Finds other device plugins that give out GPUs of ours, by querying those in the directory for
 * their devices. A socket that has answered is not queried again: some plugins report each change
 * of a device's health to only one of their readers.
 */
final class Competitors {
    private static final Logger LOG = LoggerFactory.getLogger(Competitors.class);
    private static final Duration LIMIT = Duration.ofSeconds(2);

    /** How many times a plugin that does not answer is queried. */
    private static final int TRIES = 3;

    /** The time in which a plugin that has made its socket begins to listen. */
    private static final Duration BEGINNING = Duration.ofSeconds(5);

    /** The devices with their shares; one of each suffices. */
    private static final int MOST_GPUS = 8192;

    private final GrpcSockets grpc;

    /** The sockets that were in the directory the last time. */
    private final Map<Path, Plugin> known = new HashMap<>();

    Competitors(GrpcSockets grpc) {
        this.grpc = grpc;
    }

    /**
     * @param seen when it was first seen, by the clock of {@link System#nanoTime}
     * @param ids of its GPUs; empty as long as they are not known
     */
    private record Plugin(Object socket, long seen, int tries, Optional<Set<String>> ids) {
        boolean isToQuery() {
            return ids.isEmpty() && tries < TRIES;
        }

        Plugin answered(Optional<Set<String>> ids) {
            return new Plugin(socket, seen, tries + 1, ids);
        }
    }

    /** Whether no new plugin is still to be queried. */
    boolean isSettled() {
        long young = System.nanoTime() - BEGINNING.toNanos();
        return known.values().stream().noneMatch(it -> it.isToQuery() && it.seen() - young > 0);
    }

    /** Queries the plugins that are new or have not answered yet, all at the same time. */
    void update(Map<Path, Object> sockets) {
        known.keySet().retainAll(sockets.keySet());
        sockets.forEach((path, socket) -> {
            if (!known.containsKey(path) || !known.get(path).socket().equals(socket)) {
                known.put(path, new Plugin(socket, System.nanoTime(), 0, Optional.empty()));
            }
        });
        Map<Path, Plugin> queried = new ConcurrentHashMap<>();
        List<Thread> threads = new ArrayList<>();
        known.forEach((path, plugin) -> {
            if (plugin.isToQuery()) {
                threads.add(
                        Thread.ofVirtual().start(() -> queried.put(path, queried(path, plugin))));
            }
        });
        await(threads);
        known.putAll(queried);
    }

    /** Waits for the threads, whose calls have time limits; an interrupt is kept for later. */
    private static void await(List<Thread> threads) {
        boolean interrupted = false;
        for (Thread thread : threads) {
            while (thread.isAlive()) {
                try {
                    thread.join();
                } catch (InterruptedException e) {
                    interrupted = true;
                    threads.forEach(Thread::interrupt);
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private Plugin queried(Path path, Plugin plugin) {
        if (!PluginDirectory.isServed(path)) {
            return plugin;
        }
        try {
            Optional<ByteString> first = grpc.first(path, Calls.LIST_AND_WATCH, LIMIT);
            Set<String> ids =
                    first.isEmpty()
                            ? Set.of()
                            : ListedDevices.parse(first.get()).devices().stream()
                                    .map(Device::id)
                                    .filter(GpuResolver::isUuid)
                                    .limit(MOST_GPUS)
                                    .collect(Collectors.toSet());
            return plugin.answered(Optional.of(ids));
        } catch (IOException e) {
            LOG.debug("{} does not report its devices: {}", path, e.getMessage());
            boolean other =
                    e instanceof GrpcException answer && answer.code() == Status.Code.UNIMPLEMENTED;
            return plugin.answered(other ? Optional.of(Set.of()) : Optional.empty());
        }
    }

    /**
     * The socket of a plugin that is served and has one of these GPUs, or a share of one, as {@link
     * #update} has found.
     */
    Optional<Path> with(Set<String> uuids) {
        return known.entrySet().stream()
                .filter(it ->
                        it.getValue().ids().orElse(Set.of()).stream()
                                .anyMatch(id -> isOf(id, uuids)))
                .map(Map.Entry::getKey)
                .filter(PluginDirectory::isServed)
                .sorted()
                .findFirst();
    }

    /** A share has its GPU's UUID with a number behind it: {@code GPU-5c1a1003-…::2}. */
    private static boolean isOf(String id, Set<String> uuids) {
        return uuids.contains(id)
                || uuids.stream()
                        .anyMatch(uuid ->
                                id.startsWith(uuid)
                                        && !Character.isLetterOrDigit(id.charAt(uuid.length())));
    }
}
