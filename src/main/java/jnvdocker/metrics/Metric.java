package jnvdocker.metrics;

import static jnvdocker.metrics.Metric.Kind.COUNTER;
import static jnvdocker.metrics.Metric.Kind.GAUGE;
import static jnvdocker.metrics.Metric.Kind.INFO;

import java.util.ArrayList;
import java.util.List;

/** The metrics, each with what it is in one line. A figure that is not known has no sample. */
enum Metric {
    GPUS("gpus", GAUGE, Of.HOST, List.of("state"), "GPUs in each state"),
    LEASES("leases", GAUGE, Of.HOST, "Live leases"),
    GRANTED("leases_granted_total", COUNTER, Of.HOST, "Leases that began"),
    RECOVERED(
            "leases_recovered_total",
            COUNTER,
            Of.HOST,
            "Leases that were lost, and given again to who has the GPUs"),
    RELEASED("leases_released_total", COUNTER, Of.HOST, "Leases that ended"),
    REFUSALS(
            "refusals_total",
            COUNTER,
            Of.HOST,
            List.of("reason"),
            "Containers and commands that were refused GPUs"),
    GPU_SECONDS(
            "gpu_seconds_total",
            COUNTER,
            Of.USER,
            "Time for which users had GPUs, a second for each second of each GPU"),
    WAITING("waiting_clients", GAUGE, Of.HOST, "Clients that wait for GPUs"),
    LONGEST_WAIT("longest_wait_seconds", GAUGE, Of.HOST, "How long the first of them has waited"),
    REFUSED_STARTS(
            "refused_starts",
            GAUGE,
            Of.HOST,
            "Containers that are started as soon as they can have their GPUs"),
    DRIVER("driver_info", INFO, Of.HOST, List.of("version"), "The loaded driver"),

    GPU("gpu_info", INFO, Of.GPU, List.of("model", "pci_address"), "What a GPU is"),
    STATE("gpu_state", GAUGE, Of.HELD, List.of("state"), "1 for the state that a GPU is in"),
    LEASE_START(
            "gpu_lease_start_time_seconds",
            GAUGE,
            Of.HELD,
            "When a GPU's lease began, in Unix time"),
    FREE_SINCE(
            "gpu_free_since_time_seconds",
            GAUGE,
            Of.GPU,
            "When a free GPU was given back, in Unix time"),
    NVML_UP("gpu_nvml_up", GAUGE, Of.GPU, "1 if NVML tells of a GPU, 0 if it fails"),
    READ("gpu_read_time_seconds", GAUGE, Of.GPU, "When NVML last told of a GPU, in Unix time"),
    UTILIZATION(
            "gpu_utilization_ratio",
            GAUGE,
            Of.HELD,
            "Part of the last sample period in which a GPU computed"),
    MEMORY_UTILIZATION(
            "gpu_memory_utilization_ratio",
            GAUGE,
            Of.HELD,
            "Part of it in which its memory was read or written"),
    ENCODER_UTILIZATION("gpu_encoder_utilization_ratio", GAUGE, Of.HELD, "The same of its encoder"),
    DECODER_UTILIZATION("gpu_decoder_utilization_ratio", GAUGE, Of.HELD, "The same of its decoder"),
    MEMORY("gpu_memory_bytes", GAUGE, Of.HELD, "A GPU's memory"),
    MEMORY_USED("gpu_memory_used_bytes", GAUGE, Of.HELD, "The part of it that is taken"),
    BAR1("gpu_bar1_bytes", GAUGE, Of.HELD, "A GPU's window to its memory over PCIe"),
    BAR1_USED("gpu_bar1_used_bytes", GAUGE, Of.HELD, "The part of it that is taken"),
    PROCESSES("gpu_processes", GAUGE, Of.HELD, "Processes that have memory of a GPU"),
    POWER("gpu_power_watts", GAUGE, Of.HELD, "What a GPU draws"),
    POWER_LIMIT("gpu_power_limit_watts", GAUGE, Of.HELD, "What it may draw"),
    TEMPERATURE("gpu_temperature_celsius", GAUGE, Of.HELD, "A GPU's temperature"),
    FAN("gpu_fan_ratio", GAUGE, Of.HELD, "Its fan's speed, of the greatest"),
    CLOCK(
            "gpu_clock_hertz",
            GAUGE,
            Of.HELD,
            List.of("clock"),
            "A GPU's clocks: graphics, sm, memory"),
    CLOCK_MAX(
            "gpu_clock_max_hertz", GAUGE, Of.HELD, List.of("clock"), "The greatest they may have"),
    THROTTLED(
            "gpu_throttled",
            GAUGE,
            Of.HELD,
            List.of("reason"),
            "1 for each reason for which clocks are lower than they could be"),
    PCIE_GENERATION("gpu_pcie_generation", GAUGE, Of.HELD, "The generation of a GPU's PCIe link"),
    PCIE_LANES("gpu_pcie_lanes", GAUGE, Of.HELD, "Its number of lanes"),
    PCIE_SENT("gpu_pcie_sent_bytes_per_second", GAUGE, Of.HELD, "What a GPU sends over it"),
    PCIE_RECEIVED("gpu_pcie_received_bytes_per_second", GAUGE, Of.HELD, "What it receives"),
    ECC("gpu_ecc_enabled", GAUGE, Of.HELD, "1 if errors of a GPU's memory are corrected, else 0"),
    ECC_ERRORS(
            "gpu_ecc_errors_total",
            COUNTER,
            Of.HELD,
            List.of("kind"),
            "Errors since the driver was loaded: corrected, uncorrected"),
    RETIRED_PAGES("gpu_retired_pages", GAUGE, Of.HELD, "Pages that are out of use, ever since"),
    REMAPPED_ROWS("gpu_remapped_rows", GAUGE, Of.HELD, "Rows that are replaced, ever since"),
    RETIREMENT_PENDING(
            "gpu_retirement_pending",
            GAUGE,
            Of.HELD,
            "1 if a page or row goes out of use at the next reset, else 0"),
    REMAPPING_FAILED(
            "gpu_remapping_failed", GAUGE, Of.HELD, "1 if there was no spare row left, else 0"),
    PERSISTENT("gpu_persistence_mode", GAUGE, Of.HELD, "1 if the driver keeps a GPU ready, else 0"),
    MIG("gpu_mig_enabled", GAUGE, Of.HELD, "1 if a GPU is parted, else 0");

    private static final String PREFIX = "jnvdocker_";

    /** What a metric is of; its labels say of which. */
    enum Of {
        HOST(List.of()),
        USER(List.of("user")),
        GPU(List.of("uuid", "gpu")),
        /** A GPU, and who holds it. */
        HELD(List.of("uuid", "gpu", "user", "container", "image", "claim"));

        private final List<String> labels;

        Of(List<String> labels) {
            this.labels = labels;
        }
    }

    /** Prometheus's types. */
    enum Kind {
        GAUGE,
        COUNTER,
        INFO
    }

    /** Labels of what only the trusted may know. */
    static final List<String> NAMES = List.of("user", "container", "image", "claim");

    private final String name;
    private final Kind kind;
    private final Of of;
    private final List<String> own;
    private final String help;

    Metric(String name, Kind kind, Of of, String help) {
        this(name, kind, of, List.of(), help);
    }

    Metric(String name, Kind kind, Of of, List<String> own, String help) {
        this.name = name;
        this.kind = kind;
        this.of = of;
        this.own = own;
        this.help = help;
    }

    /** The name as Prometheus has it, {@code jnvdocker_gpu_power_watts}. */
    String fullName() {
        return PREFIX + name;
    }

    Kind kind() {
        return kind;
    }

    String help() {
        return help;
    }

    /** All labels, those of what it is of first. */
    List<String> labels() {
        List<String> labels = new ArrayList<>(of.labels);
        labels.addAll(own);
        return labels;
    }
}
