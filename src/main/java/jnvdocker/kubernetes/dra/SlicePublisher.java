package jnvdocker.kubernetes.dra;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.posix.FileErrors;
import jnvdocker.posix.PermanentThread;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Keeps this node's resource slice at the API server as the GPUs are. Its thread may wait for the
 * server; others wake it. Kubelets and administrators delete slices, so it checks now and then.
 */
final class SlicePublisher implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(SlicePublisher.class);
    private static final String SLICES = "/apis/resource.k8s.io/v1/resourceslices";

    /** The longest time for which a slice that another client has changed stays as it is. */
    private static final Duration CHECK = Duration.ofSeconds(9);

    /** How often the source looks for changes that wake nobody here. */
    private static final Duration LOOK = Duration.ofSeconds(2);

    /** Several changes in this time are published as one. */
    private static final Duration SETTLE = Duration.ofMillis(200);

    private static final Duration FIRST_DELAY = Duration.ofSeconds(1);
    private static final Duration MOST_DELAY = Duration.ofSeconds(30);
    private static final Duration END = Duration.ofSeconds(2);

    private final ApiServer api;
    private final String node;
    private final Source source;
    private final Semaphore news = new Semaphore(0);
    private final Thread thread = PermanentThread.platform("dra-slices", this::keep);

    private volatile Optional<Refusal> fault = Optional.empty();
    private volatile SliceDevices.Kept kept = SliceDevices.Kept.ALL;
    private Optional<JsonNode> published = Optional.empty();
    private long checked;
    private long looked = System.nanoTime();

    /** What is to be published. */
    interface Source {
        /** The devices for a cluster that keeps these parts; empty while they are not known yet. */
        Optional<SliceDevices.Listed> devices(SliceDevices.Kept kept);

        /** Looks whether the devices have changed otherwise. May wait for the server. */
        void look();
    }

    /**
     * @param node the name of this host in the cluster
     */
    SlicePublisher(ApiServer api, String node, Source source) {
        this.api = api;
        this.node = node;
        this.source = source;
    }

    SlicePublisher start() {
        thread.start();
        return this;
    }

    /** The devices may have changed. For any thread. */
    void wake() {
        news.release();
    }

    /** A kubelet has registered the driver: the cluster may be another version by now. */
    void check() {
        kept = SliceDevices.Kept.ALL;
        wake();
    }

    /** Why the slice is not there as it should be; empty if it is, or was not tried yet. */
    Optional<Refusal> fault() {
        return fault;
    }

    private void keep() throws InterruptedException {
        Duration delay = FIRST_DELAY;
        while (true) {
            try {
                report(publish().flatMap(SliceDevices.Listed::lack));
                delay = FIRST_DELAY;
                if (news.tryAcquire(LOOK.toMillis(), TimeUnit.MILLISECONDS)) {
                    Thread.sleep(SETTLE);
                    news.drainPermits();
                }
                look();
            } catch (RefusedException | IOException e) {
                if (Thread.currentThread().isInterrupted()) {
                    return;
                }
                published = Optional.empty();
                report(Optional.of(refusal(e)));
                Thread.sleep(delay);
                Duration twice = delay.multipliedBy(2);
                delay = twice.compareTo(MOST_DELAY) < 0 ? twice : MOST_DELAY;
            }
        }
    }

    private void look() {
        if (System.nanoTime() - looked >= LOOK.toNanos()) {
            source.look();
            looked = System.nanoTime();
        }
    }

    private static Refusal refusal(Exception failure) {
        return switch (failure) {
            case RefusedException refused -> refused.refusal();
            case ApiException answer ->
                    new Refusal(
                            answer.getMessage(),
                            "see 'Credentials' in the manual's page about Kubernetes");
            case IOException e -> FileErrors.refusal(e);
            default -> Refusal.of(String.valueOf(failure.getMessage()));
        };
    }

    private void report(Optional<Refusal> now) {
        if (now.isPresent() && fault.isEmpty()) {
            LOG.warn("the node's resource slice is not as it should be: {}", now.get().message());
        } else if (now.isEmpty() && fault.isPresent()) {
            LOG.info("the node's resource slice is as it should be again");
        }
        fault = now;
    }

    /**
     * Brings the slice up to date, if it is not, or was not checked for a while.
     *
     * @return what it has then; empty while that is not known yet
     */
    private Optional<SliceDevices.Listed> publish() throws RefusedException, IOException {
        Optional<SliceDevices.Listed> listed = source.devices(kept);
        Optional<ArrayNode> devices = listed.map(SliceDevices.Listed::devices);
        boolean isDue = System.nanoTime() - checked > CHECK.toNanos();
        if (devices.isEmpty() || !isDue && published.equals(Optional.of(devices.get()))) {
            return listed;
        }
        JsonNode stored = store(devices.get());
        SliceDevices.Kept now =
                new SliceDevices.Kept(
                        kept.taints() && !lacks("taints", devices.get(), stored),
                        kept.shares() && !lacks("allowMultipleAllocations", devices.get(), stored));
        if (!now.equals(kept)) {
            if (kept.taints() && !now.taints()) {
                LOG.warn(
                        "the cluster keeps no taints of devices (DRADeviceTaints): GPUs that cannot"
                                + " be had are left out of the resource slice");
            }
            if (kept.shares() && !now.shares()) {
                LOG.warn(
                        "the cluster keeps no shares of devices (DRAConsumableCapacity): pods have"
                                + " whole GPUs");
            }
            kept = now;
            return publish();
        }
        published = Optional.of(devices.get());
        checked = System.nanoTime();
        return listed;
    }

    private static boolean lacks(String field, ArrayNode written, JsonNode stored) {
        return !written.findValues(field).isEmpty()
                && stored.findValues(field).isEmpty()
                && written.size() == stored.size();
    }

    /** Returns the devices that the server has then. */
    private JsonNode store(ArrayNode devices) throws RefusedException, IOException {
        List<JsonNode> slices = slices();
        for (JsonNode extra : slices.subList(Math.min(1, slices.size()), slices.size())) {
            delete(extra);
        }
        if (slices.isEmpty()) {
            JsonNode stored = api.request("POST", SLICES, Optional.of(slice(devices)));
            LOG.info("published {} GPUs of node {} to the cluster", devices.size(), node);
            return stored.path("spec").path("devices");
        }
        ObjectNode slice = slices.getFirst().deepCopy();
        JsonNode before = slice.path("spec").path("devices");
        if (SliceDevices.areSame(devices, before)) {
            return before;
        }
        ObjectNode spec = (ObjectNode) slice.get("spec");
        spec.set("devices", devices);
        ObjectNode pool = (ObjectNode) spec.get("pool");
        pool.put("generation", pool.path("generation").asLong() + 1);
        return api.request("PUT", path(slice), Optional.of(slice)).path("spec").path("devices");
    }

    private List<JsonNode> slices() throws RefusedException, IOException {
        String fields =
                URLEncoder.encode(
                        "spec.nodeName=" + node + ",spec.driver=" + DraDriver.NAME,
                        StandardCharsets.UTF_8);
        List<JsonNode> slices = new ArrayList<>();
        for (JsonNode slice : api.get(SLICES + "?limit=8&fieldSelector=" + fields).path("items")) {
            boolean ours =
                    slice.path("spec").path("nodeName").asText().equals(node)
                            && slice.path("spec").path("driver").asText().equals(DraDriver.NAME);
            if (ours) {
                slices.add(slice);
            }
        }
        return slices;
    }

    private static String path(JsonNode slice) {
        String name = slice.path("metadata").path("name").asText();
        return SLICES + "/" + URLEncoder.encode(name, StandardCharsets.UTF_8);
    }

    private void delete(JsonNode slice) throws RefusedException, IOException {
        try {
            api.request("DELETE", path(slice), Optional.empty());
        } catch (ApiException e) {
            if (!e.isNotFound()) {
                throw e;
            }
        }
    }

    /** A new one, which goes with its node. */
    private ObjectNode slice(ArrayNode devices) throws RefusedException, IOException {
        String uid = api.get("/api/v1/nodes/" + node).path("metadata").path("uid").asText();
        ObjectNode slice =
                ApiServer.JSON
                        .createObjectNode()
                        .put("apiVersion", "resource.k8s.io/v1")
                        .put("kind", "ResourceSlice");
        ObjectNode metadata =
                slice.putObject("metadata").put("generateName", node + "-" + DraDriver.NAME + "-");
        metadata.putArray("ownerReferences")
                .addObject()
                .put("apiVersion", "v1")
                .put("kind", "Node")
                .put("name", node)
                .put("uid", uid)
                .put("controller", true);
        ObjectNode spec =
                slice.putObject("spec").put("driver", DraDriver.NAME).put("nodeName", node);
        spec.putObject("pool").put("name", node).put("generation", 1).put("resourceSliceCount", 1);
        spec.set("devices", devices);
        return slice;
    }

    /** Takes the GPUs out of the cluster: others serve this node from now on. */
    void withdraw() {
        close();
        try {
            for (JsonNode slice : slices()) {
                delete(slice);
            }
        } catch (RefusedException | IOException e) {
            LOG.warn("the resource slice of node {} stays: {}", node, e.getMessage());
        }
    }

    @Override
    public void close() {
        PermanentThread.end(thread, END);
    }
}
