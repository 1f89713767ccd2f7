package jnvdocker.request;

import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Which GPUs the caller wants. Only the spelling was checked: whether such GPUs exist, and which
 * ones a count or a prefix means, is not known here. {@code toString} is the spelling that {@code
 * --gpus} takes.
 */
public sealed interface GpuRequest {
    /** The most ids that one request may name. */
    int MAX_IDS = 256;

    /**
     * Reads the value of {@code --gpus} as docker does, and in addition {@code none} and an
     * unquoted {@code device=0,1} (which the engine always refuses: it takes the 1 for a count).
     */
    static GpuRequest parseOption(String value) throws InvalidGpuRequestException {
        return new GpuOption(value).request();
    }

    /**
     * The capabilities that such a value requests, which docker would put into {@code
     * NVIDIA_DRIVER_CAPABILITIES}; empty when the image's decide.
     */
    static List<String> parseCapabilities(String value) throws InvalidGpuRequestException {
        GpuOption option = new GpuOption(value);
        option.request();
        return option.capabilities();
    }

    /**
     * Reads the value of {@code NV_GPU}: ids separated by blanks or commas, {@code all} or {@code
     * none}. Empty when the variable says nothing.
     */
    static Optional<GpuRequest> parseVariable(String value) throws InvalidGpuRequestException {
        List<String> ids = GpuIds.split(value);
        return ids.isEmpty()
                ? Optional.empty()
                : Optional.of(GpuIds.request("NV_GPU", "NV_GPU=0,1", ids));
    }

    /** The variable that names the GPUs to NVIDIA's runtime. */
    String VISIBLE_DEVICES = "NVIDIA_VISIBLE_DEVICES";

    /**
     * The variable that names to NVIDIA's runtime, and to us, the parts of the driver that a
     * container needs.
     */
    String DRIVER_CAPABILITIES = "NVIDIA_DRIVER_CAPABILITIES";

    /**
     * The value of {@link #VISIBLE_DEVICES} by which NVIDIA's runtime adds no GPU, whatever the
     * image says.
     */
    String VOID = "void";

    /** Values of {@link #VISIBLE_DEVICES} that request nothing. */
    Set<List<String>> NOTHING = Set.of(List.of(""), List.of(VOID));

    /**
     * Reads the value of {@code NVIDIA_VISIBLE_DEVICES} as NVIDIA's runtime does: indexes, UUIDs
     * and NVIDIA's CDI names of GPUs, with commas between them, {@code all} or {@code none}. Empty
     * for {@code void} and nothing, which request nothing.
     */
    static Optional<GpuRequest> parseVisibleDevices(String value)
            throws InvalidGpuRequestException {
        List<String> ids =
                GpuIds.expanded(Arrays.stream(value.split(",")).map(String::strip).toList());
        if (ids.isEmpty() || NOTHING.contains(ids)) {
            return Optional.empty();
        }
        if (ids.equals(List.of("all"))) {
            return Optional.of(new All());
        }
        if (ids.equals(List.of("none"))) {
            return Optional.of(new None());
        }
        if (ids.size() > MAX_IDS || !ids.stream().allMatch(Devices::isId)) {
            throw new InvalidGpuRequestException(
                    new Refusal(
                            "%s is %s, which does not name GPUs"
                                    .formatted(VISIBLE_DEVICES, Quote.quoted(value)),
                            "write indexes or UUIDs with commas between them, all, none or void"));
        }
        return Optional.of(new Devices(ids));
    }

    /** Every GPU of the host that may be used. */
    record All() implements GpuRequest {
        @Override
        public String toString() {
            return "all";
        }
    }

    /** The driver, but no GPU. */
    record None() implements GpuRequest {
        @Override
        public String toString() {
            return "none";
        }
    }

    /**
     * A number of GPUs, whichever are free.
     *
     * @param filter which GPUs may be among them
     */
    record Count(int gpus, GpuFilter filter) implements GpuRequest {
        public Count {
            if (gpus < 1) {
                throw new IllegalArgumentException("not a number of GPUs: " + gpus);
            }
        }

        /** A request for a number of any GPUs. */
        public Count(int gpus) {
            this(gpus, GpuFilter.ANY);
        }

        @Override
        public String toString() {
            return filter.isAny() ? Integer.toString(gpus) : "count=" + gpus + filter;
        }
    }

    /**
     * The GPUs that another container or process of the same user holds, beside it.
     *
     * @param holder its container's name or id, or the id of its claim
     */
    record With(String holder) implements GpuRequest {
        /** A name of a container as docker takes it. */
        private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9_.-]{0,127}");

        public With {
            if (!isName(holder)) {
                throw new IllegalArgumentException("not a name of a container: " + holder);
            }
        }

        static boolean isName(String text) {
            return NAME.matcher(text).matches();
        }

        @Override
        public String toString() {
            return "with=" + holder;
        }
    }

    /**
     * These GPUs, each named by its index, its UUID or the beginning of it, or its PCI address; a
     * MIG instance by {@code 0:1} or its UUID.
     *
     * @param ids in the order of the request
     */
    record Devices(List<String> ids) implements GpuRequest {
        private static final Pattern ID =
                Pattern.compile(
                        "[A-Za-z0-9:.-]{1,64}|(?i:MIG-GPU)-[0-9a-fA-F-]{1,40}(/[0-9]{1,4}){2}");

        public Devices {
            ids = List.copyOf(ids);
            if (ids.isEmpty() || ids.size() > MAX_IDS || !ids.stream().allMatch(Devices::isId)) {
                throw new IllegalArgumentException("not ids of GPUs: " + ids);
            }
        }

        static boolean isId(String text) {
            return ID.matcher(text).matches();
        }

        @Override
        public String toString() {
            String device = "device=" + String.join(",", ids);
            return ids.size() == 1 ? device : '"' + device + '"';
        }
    }
}
