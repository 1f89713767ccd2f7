package jnvdocker.metrics;

import static jnvdocker.metrics.Metric.Kind.COUNTER;
import static jnvdocker.metrics.Metric.Kind.GAUGE;
import static jnvdocker.metrics.Metric.Kind.INFO;

import java.util.ArrayList;
import java.util.List;

/** The metrics. A figure that is not known has no sample. */
enum Metric {
    GPUS("gpus", GAUGE, Of.HOST, List.of("state"), "Number of GPUs in each state"),
    LEASES("leases", GAUGE, Of.HOST, "Number of live leases"),
    GRANTED("leases_granted_total", COUNTER, Of.HOST, "Number of leases that began"),
    RECOVERED(
            "leases_recovered_total",
            COUNTER,
            Of.HOST,
            "Number of lost leases that were restored for a running holder"),
    RELEASED("leases_released_total", COUNTER, Of.HOST, "Number of leases that ended"),
    REFUSALS(
            "refusals_total",
            COUNTER,
            Of.HOST,
            List.of("reason"),
            "Number of requests for GPUs that were refused"),
    GPU_SECONDS(
            "gpu_seconds_total",
            COUNTER,
            Of.USER,
            "Seconds for which users have held GPUs, added up over GPUs"),
    WAITING("waiting_clients", GAUGE, Of.HOST, "Number of clients that wait for GPUs"),
    LONGEST_WAIT(
            "longest_wait_seconds",
            GAUGE,
            Of.HOST,
            "How long the client that has waited longest has waited"),
    REFUSED_STARTS(
            "refused_starts",
            GAUGE,
            Of.HOST,
            "Number of containers that start when their GPUs become free"),
    DRIVER("driver_info", INFO, Of.HOST, List.of("version"), "Version of the loaded driver"),
    GPU(
            "gpu_info",
            INFO,
            Of.GPU,
            List.of("model", "pci_address", "parent"),
            "Model and PCI address of the GPU; parent is the UUID of a MIG instance's GPU"),
    STATE("gpu_state", GAUGE, Of.HELD, List.of("state"), "1 for the state of the GPU"),
    LEASE_START(
            "gpu_lease_start_time_seconds",
            GAUGE,
            Of.HELD,
            "Time at which the GPU's lease began, in Unix time"),
    LEASE_DUE(
            "gpu_lease_due_time_seconds",
            GAUGE,
            Of.HELD,
            "Time at which the GPU's lease ends, or should have ended, in Unix time"),
    SHARE(
            "gpu_share_bytes",
            GAUGE,
            Of.HELD,
            "Memory of a shared GPU that is promised to the holder"),
    IDLE_SINCE(
            "gpu_idle_since_time_seconds",
            GAUGE,
            Of.HELD,
            List.of("source"),
            "Time since which the held GPU has been idle, in Unix time"),
    FREE_SINCE(
            "gpu_free_since_time_seconds",
            GAUGE,
            Of.GPU,
            "Time at which the free GPU was last released, in Unix time"),
    NVML_UP(
            "gpu_nvml_up",
            GAUGE,
            Of.GPU,
            "1 if NVML answers for the GPU, 0 if it reports an error"),
    READ(
            "gpu_read_time_seconds",
            GAUGE,
            Of.GPU,
            "Time of NVML's last answer for the GPU, in Unix time"),
    UTILIZATION(
            "gpu_utilization_ratio",
            GAUGE,
            Of.HELD,
            "Share of the last sample period in which the GPU computed"),
    MEMORY_UTILIZATION(
            "gpu_memory_utilization_ratio",
            GAUGE,
            Of.HELD,
            "Share of the last sample period in which the GPU's memory was read or written"),
    ENCODER_UTILIZATION(
            "gpu_encoder_utilization_ratio",
            GAUGE,
            Of.HELD,
            "Share of the last sample period in which the video encoder worked"),
    DECODER_UTILIZATION(
            "gpu_decoder_utilization_ratio",
            GAUGE,
            Of.HELD,
            "Share of the last sample period in which the video decoder worked"),
    MEMORY("gpu_memory_bytes", GAUGE, Of.HELD, "Size of the GPU's memory"),
    MEMORY_USED("gpu_memory_used_bytes", GAUGE, Of.HELD, "Memory of the GPU that is in use"),
    BAR1(
            "gpu_bar1_bytes",
            GAUGE,
            Of.HELD,
            "Size of BAR1, through which the host reads and writes the GPU's memory"),
    BAR1_USED("gpu_bar1_used_bytes", GAUGE, Of.HELD, "Part of BAR1 that is in use"),
    PROCESSES("gpu_processes", GAUGE, Of.HELD, "Number of processes that use memory of the GPU"),
    POWER("gpu_power_watts", GAUGE, Of.HELD, "Power that the GPU draws"),
    POWER_LIMIT("gpu_power_limit_watts", GAUGE, Of.HELD, "Power that the GPU may draw"),
    TEMPERATURE("gpu_temperature_celsius", GAUGE, Of.HELD, "Temperature of the GPU"),
    FAN("gpu_fan_ratio", GAUGE, Of.HELD, "Speed of the fan as a share of its maximum"),
    CLOCK("gpu_clock_hertz", GAUGE, Of.HELD, List.of("clock"), "Frequency of a clock of the GPU"),
    CLOCK_MAX(
            "gpu_clock_max_hertz",
            GAUGE,
            Of.HELD,
            List.of("clock"),
            "Maximum frequency of a clock of the GPU"),
    THROTTLED(
            "gpu_throttled",
            GAUGE,
            Of.HELD,
            List.of("reason"),
            "1 for each reason that lowers the GPU's clocks, 0 for the others"),
    PCIE_GENERATION("gpu_pcie_generation", GAUGE, Of.HELD, "Generation of the GPU's PCIe link"),
    PCIE_LANES("gpu_pcie_lanes", GAUGE, Of.HELD, "Number of lanes of the GPU's PCIe link"),
    PCIE_SENT(
            "gpu_pcie_sent_bytes_per_second", GAUGE, Of.HELD, "Data that the GPU sends over PCIe"),
    PCIE_RECEIVED(
            "gpu_pcie_received_bytes_per_second",
            GAUGE,
            Of.HELD,
            "Data that the GPU receives over PCIe"),
    ECC("gpu_ecc_enabled", GAUGE, Of.HELD, "1 if ECC is enabled, 0 if it is not"),
    ECC_ERRORS(
            "gpu_ecc_errors_total",
            COUNTER,
            Of.HELD,
            List.of("kind"),
            "Number of memory errors since the driver was loaded"),
    RETIRED_PAGES(
            "gpu_retired_pages",
            GAUGE,
            Of.HELD,
            "Number of memory pages that are out of use for good"),
    REMAPPED_ROWS(
            "gpu_remapped_rows",
            GAUGE,
            Of.HELD,
            "Number of memory rows that spare rows have replaced"),
    RETIREMENT_PENDING(
            "gpu_retirement_pending",
            GAUGE,
            Of.HELD,
            "1 if the next reset takes a page or row out of use, 0 if not"),
    REMAPPING_FAILED(
            "gpu_remapping_failed", GAUGE, Of.HELD, "1 if a row could not be replaced, 0 if not"),
    PERSISTENT(
            "gpu_persistence_mode", GAUGE, Of.HELD, "1 if persistence mode is on, 0 if it is off"),
    MIG("gpu_mig_enabled", GAUGE, Of.HELD, "1 if MIG mode is on, 0 if it is off");

    private static final String PREFIX = "jnvdocker_";

    /** The subject of a metric, which labels name. */
    enum Of {
        HOST(List.of()),
        USER(List.of("user")),
        GPU(List.of("uuid", "gpu")),
        /** A GPU and its holder. */
        HELD(List.of("uuid", "gpu", "user", "container", "image", "claim"));

        @SuppressWarnings("ImmutableEnumChecker") // made by List.of
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

    /** The labels that are for the trusted. */
    static final List<String> NAMES = List.of("user", "container", "image", "claim");

    private final String name;
    private final Kind kind;
    private final Of of;

    @SuppressWarnings("ImmutableEnumChecker") // made by List.of
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

    /** All labels, those of the subject first. */
    List<String> labels() {
        List<String> labels = new ArrayList<>(of.labels);
        labels.addAll(own);
        return labels;
    }
}
