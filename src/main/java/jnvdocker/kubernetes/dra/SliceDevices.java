package jnvdocker.kubernetes.dra;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.host.Gpu;
import jnvdocker.kubernetes.PodClaims.Offer;
import jnvdocker.kubernetes.PodClaims.Shares;
import jnvdocker.labels.CudaVersion;
import jnvdocker.labels.DriverVersion;
import jnvdocker.nvml.GpuFacts;
import jnvdocker.request.GpuFilter;
import jnvdocker.words.Refusal;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The devices of a {@code ResourceSlice} of {@code resource.k8s.io/v1}. */
final class SliceDevices {
    /** The key of the taint of a GPU that no new claim can have. */
    static final String TAINT = DraDriver.NAME + "/unavailable";

    private static final String STANDARD = "resource.kubernetes.io/";
    private static final Pattern ROOT = Pattern.compile("/(pci[0-9a-f]{4}:[0-9a-f]{2})/");
    private static final int LONGEST = 64;

    /** The devices of a resource slice that has taints may be so many. */
    private static final int MOST = 64;

    /** The name of the capacity. */
    static final String MEMORY = "memory";

    private final DraDriver.Knowledge known;

    /**
     * The parts of devices that a cluster keeps; others drop them.
     *
     * @param taints {@code DRADeviceTaints}: else a GPU that cannot be had is left out
     * @param shares {@code DRAConsumableCapacity}: else each GPU is given whole
     */
    record Kept(boolean taints, boolean shares) {
        static final Kept ALL = new Kept(true, true);
    }

    SliceDevices(DraDriver.Knowledge known) {
        this.known = known;
    }

    /**
     * Devices, the first of those that are offered.
     *
     * @param beyond how many more there are, for which a slice has no room
     */
    record Listed(ArrayNode devices, int beyond) {
        /** Why claims cannot have all GPUs; empty if they can. */
        Optional<Refusal> lack() {
            return beyond == 0
                    ? Optional.empty()
                    : Optional.of(
                            new Refusal(
                                    "%d of this node's GPUs and MIG instances are in its resource slice, which has no room for %d more"
                                            .formatted(devices.size(), beyond),
                                    "name those that pods are to have, with kubernetes.gpus in the"
                                            + " configuration"));
        }
    }

    /** The devices for a cluster that keeps these parts. */
    Listed of(List<Offer> offers, Kept kept) {
        List<Offer> open = offers.stream().map(it -> kept.shares() ? it : whole(it)).toList();
        List<Offer> listed =
                open.stream().filter(it -> kept.taints() || obstacle(it).isEmpty()).toList();
        ArrayNode devices = ApiServer.JSON.createArrayNode();
        Optional<DriverVersion> driver = driver();
        listed.stream().limit(MOST).forEach(offer -> devices.add(device(offer, driver)));
        return new Listed(devices, listed.size() - devices.size());
    }

    private static Offer whole(Offer offer) {
        return new Offer(
                offer.name(), offer.gpu(), offer.numaNode(), offer.obstacle(), Optional.empty());
    }

    private static Optional<String> obstacle(Offer offer) {
        return offer.shares().isPresent() ? offer.shares().get().obstacle() : offer.obstacle();
    }

    private Optional<DriverVersion> driver() {
        try {
            return Optional.of(known.inventory().read().version());
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /**
     * Each has all of them, known or not, but for those that only some GPUs have: a selector that
     * reads one that a device lacks fails, and with it the pod's scheduling on every node.
     */
    private ObjectNode device(Offer offer, Optional<DriverVersion> driver) {
        Gpu gpu = offer.gpu();
        ObjectNode device = ApiServer.JSON.createObjectNode().put("name", offer.name());
        Attributes attributes = new Attributes(device.putObject("attributes"));
        attributes.text("uuid", gpu.uuid());
        attributes.text("type", gpu.part().isPresent() ? "mig" : "gpu");
        gpu.part().ifPresent(_ -> attributes.text("parentUUID", gpu.wholeUuid()));
        attributes.text("productName", gpu.model());
        attributes.number("index", gpu.index());
        attributes.number("numaNode", offer.numaNode().orElse(-1));
        attributes.text(STANDARD + "pciBusID", gpu.pciAddress());
        pcieRoot(gpu).ifPresent(root -> attributes.text(STANDARD + "pcieRoot", root));
        attributes.version("driverVersion", driver.map(DriverVersion::text));
        attributes.version(
                "cudaDriverVersion", driver.flatMap(known.cuda()::of).map(CudaVersion::toString));
        Optional<GpuFacts> facts = known.facts().apply(gpu);
        attributes.text(
                "architecture",
                facts.flatMap(GpuFacts::architecture)
                        .map(it -> it.name().toLowerCase(Locale.ROOT))
                        .orElse("unknown"));
        attributes.version(
                "cudaComputeCapability",
                facts.flatMap(GpuFacts::computeCapability).map(Object::toString));
        if (offer.shares().isPresent()) {
            share(device, offer.shares().get());
        } else {
            OptionalLong memory = facts.map(GpuFacts::memory).orElseGet(OptionalLong::empty);
            capacity(device, Quantity.of(memory.orElse(0)));
        }
        obstacle(offer)
                .ifPresent(why ->
                        device.putArray("taints")
                                .addObject()
                                .put("key", TAINT)
                                .put("value", why)
                                .put("effect", "NoSchedule"));
        return device;
    }

    /**
     * A request that names no amount consumes all that shares may have together, and so cannot be
     * met while anybody has one. A smaller request than the smallest share consumes that much. A
     * rest that is no share is none: a server refuses a range that begins above the capacity.
     */
    private static void share(ObjectNode device, Shares shares) {
        device.put("allowMultipleAllocations", true);
        long least = GpuFilter.LEAST_SHARE.bytes();
        boolean isLeft = shares.left() >= least;
        ObjectNode policy =
                capacity(device, Quantity.of(isLeft ? shares.left() : 0))
                        .putObject("requestPolicy")
                        .put("default", Quantity.of(shares.limit()));
        if (isLeft) {
            policy.putObject("validRange").put("min", Quantity.of(least));
        }
    }

    private static ObjectNode capacity(ObjectNode device, String memory) {
        return device.putObject("capacity").putObject(MEMORY).put("value", memory);
    }

    private Optional<String> pcieRoot(Gpu gpu) {
        try {
            String place =
                    known.host()
                            .resolve("/sys/bus/pci/devices/" + gpu.pciAddress())
                            .toRealPath()
                            .toString();
            Matcher root = ROOT.matcher(place);
            return root.find() ? Optional.of(root.group(1)) : Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** Three numbers without leading zeros, as semantic versions have: 535.104.5, 12.2.0. */
    static Optional<String> semantic(String version) {
        String[] numbers = version.split("[.]");
        if (numbers.length > 3 || !version.matches("[0-9]{1,6}([.][0-9]{1,6})*")) {
            return Optional.empty();
        }
        List<String> three =
                Arrays.stream(Arrays.copyOf(numbers, 3))
                        .map(it -> it == null ? "0" : String.valueOf(Integer.parseInt(it)))
                        .toList();
        return Optional.of(String.join(".", three));
    }

    /** Those of one device; each has a type. */
    private record Attributes(ObjectNode node) {
        void text(String name, String value) {
            String cut = value.substring(0, Math.min(value.length(), LONGEST));
            node.putObject(name).put("string", cut);
        }

        void number(String name, int value) {
            node.putObject(name).put("int", value);
        }

        void version(String name, Optional<String> value) {
            node.putObject(name)
                    .put("version", value.flatMap(SliceDevices::semantic).orElse("0.0.0"));
        }
    }

    /** Whether a server has all devices as they were written; it adds times to taints. */
    static boolean areSame(JsonNode written, JsonNode stored) {
        JsonNode copy = stored.deepCopy();
        copy.forEach(device ->
                device.path("taints").forEach(taint -> ((ObjectNode) taint).remove("timeAdded")));
        return written.equals(copy);
    }
}
