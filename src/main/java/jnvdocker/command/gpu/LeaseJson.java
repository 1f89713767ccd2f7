package jnvdocker.command.gpu;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectWriter;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.posix.ProcessId;
import jnvdocker.use.GpuUse;
import jnvdocker.use.RunningContainer;

import java.io.IOException;
import java.io.Writer;
import java.time.Instant;
import java.util.Locale;
import java.util.Optional;

/**
 * What {@code --json} prints. Programs depend on the keys: they are in the README, none goes away
 * and none changes its meaning. A key is always there; what is not known or does not apply is null.
 */
final class LeaseJson {
    private static final int UNKNOWN_UID = -1;

    /** Nothing but ASCII, so that no name can do anything to a terminal. */
    private static final ObjectMapper JSON =
            JsonMapper.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();

    private LeaseJson() {}

    static ObjectNode object() {
        return JSON.createObjectNode();
    }

    static ArrayNode array() {
        return JSON.createArrayNode();
    }

    static String text(JsonNode node) {
        return text(JSON.writerWithDefaultPrettyPrinter(), node);
    }

    /** Without a line's end in it. */
    static String line(JsonNode node) {
        return text(JSON.writer(), node);
    }

    /**
     * Prints a document of any length.
     *
     * @param onOneLine whether there is no line's end in it
     */
    static JsonGenerator printing(Writer out, boolean onOneLine) throws IOException {
        ObjectWriter writer = onOneLine ? JSON.writer() : JSON.writerWithDefaultPrettyPrinter();
        JsonGenerator generator = writer.createGenerator(out);
        return generator.disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET);
    }

    private static String text(ObjectWriter writer, JsonNode node) {
        try {
            return writer.writeValueAsString(node);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("a tree is always JSON", e);
        }
    }

    static ObjectNode gpu(GpuStatus status) {
        ObjectNode root = object();
        Gpu gpu = status.gpu();
        boolean missing = status.state() == GpuStatus.State.MISSING;
        boolean sound = gpu.isSound();
        root.put("index", gpu.index());
        root.put("uuid", sound ? gpu.uuid() : null);
        root.put("model", missing || !sound ? null : gpu.model());
        root.put("node", sound ? DeviceNodes.nameOf(gpu) : null);
        root.put("pci_address", missing ? null : gpu.pciAddress());
        root.put("state", word(status.state()));
        root.put("idle_since", time(status.idleSince()));
        Optional<Lease> lease = status.lease();
        root.put("lease", lease.map(Lease::id).orElse(null));
        root.put("since", time(lease.map(Lease::since)));
        holder(root, lease);
        status.user().ifPresent(use -> user(root, use));
        root.put("note", status.note().isEmpty() ? null : status.note());
        return root;
    }

    static ObjectNode live(Lease lease, GpuStatus.State state) {
        return lease(lease, word(state));
    }

    static ObjectNode past(Lease lease) {
        return lease(lease, "ended");
    }

    private static ObjectNode lease(Lease lease, String state) {
        ObjectNode root = object();
        root.put("lease", lease.id());
        root.put("state", state);
        root.put("since", time(Optional.of(lease.since())));
        root.put("until", time(lease.end().map(Lease.End::at)));
        root.put("evidence", lease.end().map(Lease.End::evidence).orElse(null));
        holder(root, Optional.of(lease));
        root.put("engine", engine(lease.claim().origin()).orElse(null));
        ArrayNode gpus = root.putArray("gpus");
        for (ClaimedGpu gpu : lease.claim().gpus()) {
            gpus.addObject()
                    .put("index", gpu.index())
                    .put("uuid", gpu.uuid())
                    .put("node", gpu.node());
        }
        return root;
    }

    private static Optional<String> engine(Origin origin) {
        return switch (origin) {
            case Origin.EngineContainer(String engine, _) -> Optional.of(engine);
            case Origin.OtherEngineContainer(String address, _) -> Optional.of(address);
            case Origin.HostProcess _ -> Optional.empty();
            case Origin.MesosTask _ -> Optional.of("mesos");
        };
    }

    private static void holder(ObjectNode root, Optional<Lease> lease) {
        Optional<Claim> claim = lease.map(Lease::claim);
        root.put("claim", claim.map(Claim::id).orElse(null));
        root.put("user", claim.map(it -> it.owner().name()).orElse(null));
        root.put("uid", claim.map(Claim::owner).flatMap(LeaseJson::uid).orElse(null));
        Optional<Claim.ContainerRef> container = claim.flatMap(Claim::container);
        root.put("container_id", container.map(Claim.ContainerRef::id).orElse(null));
        root.put("container_name", container.map(Claim.ContainerRef::name).orElse(null));
        Purpose purpose = claim.map(Claim::origin).map(Purpose::of).orElse(Purpose.UNKNOWN);
        root.put("image", purpose.image().orElse(null));
        root.put("command", purpose.command().orElse(null));
        root.put("pid", lease.flatMap(Holding::process).map(ProcessId::pid).orElse(null));
    }

    /** Empty for the owner of a claim whose origin is lost. */
    static Optional<Long> uid(Owner owner) {
        return Optional.of(owner.uid())
                .filter(uid -> uid != UNKNOWN_UID)
                .map(Integer::toUnsignedLong);
    }

    /** One who has no lease has these of a holder's keys. */
    private static void user(ObjectNode root, GpuUse use) {
        Optional<Owner> owner = LeaseText.owner(use);
        root.put("user", owner.map(Owner::name).orElse(null));
        root.put("uid", owner.map(Owner::uid).map(Integer::toUnsignedLong).orElse(null));
        Optional<RunningContainer> container = use.container();
        root.put("container_id", LeaseText.containerId(use).orElse(null));
        root.put("container_name", container.map(RunningContainer::name).orElse(null));
        root.put("image", container.map(RunningContainer::image).orElse(null));
        root.put(
                "pid",
                use.process()
                        .map(GpuUse.User::id)
                        .or(() -> container.flatMap(RunningContainer::init))
                        .map(ProcessId::pid)
                        .orElse(null));
    }

    private static String word(GpuStatus.State state) {
        return state.name().toLowerCase(Locale.ROOT);
    }

    private static String time(Optional<Instant> instant) {
        return instant.map(Instant::toString).orElse(null);
    }
}
