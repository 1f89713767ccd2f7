package jnvdocker.rest;

import jnvdocker.words.Quote;

import java.util.List;

/** The answers about GPUs in text, line by line as nvidia-docker 1.0 wrote them. */
final class DeviceText {
    private static final String UNKNOWN = "N/A";

    private final StringBuilder out = new StringBuilder();

    private DeviceText() {}

    static String info(DeviceInfo.Document document) {
        DeviceText text = new DeviceText();
        text.title("");
        text.line("Driver version:", document.version().driver());
        text.line("Supported CUDA version:", document.version().cuda());
        text.out.append('\t');
        for (int i = 0; i < document.devices().size(); i++) {
            text.out.append('\n');
            text.title("Device #" + i);
            text.info(document.devices().get(i));
            text.out.append('\t');
        }
        return text.aligned();
    }

    private void info(DeviceInfo device) {
        line("  Model:", device.model());
        line("  UUID:", device.uuid());
        line("  Path:", device.path());
        line("  Family:", device.family());
        line("  Arch:", device.arch());
        line("  Cores:", device.cores());
        line("  Power:", device.power(), " W");
        line(
                "  CPU Affinity:",
                device.cpuAffinity() == null ? null : "NUMA node" + device.cpuAffinity());
        title("  PCI");
        line("    Bus ID:", device.pci().busId());
        line("    BAR1:", device.pci().bar1(), " MiB");
        line("    Bandwidth:", device.pci().bandwidth(), " MB/s");
        title("  Memory");
        line("    ECC:", device.memory().ecc());
        line("    Global:", device.memory().global(), " MiB");
        line("    Constant:", device.memory().constant(), " KiB");
        line("    Shared:", device.memory().shared(), " KiB");
        line("    L2 Cache:", device.memory().l2Cache(), " KiB");
        line("    Bandwidth:", device.memory().bandwidth(), " MB/s");
        clocks(device.clocks());
        topology(device.topology());
    }

    private void clocks(DeviceInfo.Clocks clocks) {
        title("  Clocks");
        line("    Cores:", clocks.cores(), " MHz");
        line("    Memory:", clocks.memory(), " MHz");
    }

    private void topology(List<DeviceInfo.Link> links) {
        if (links == null) {
            line("  P2P Available:", "None");
            return;
        }
        title("  P2P Available");
        for (DeviceInfo.Link link : links) {
            title("    " + link.busId() + " - " + P2pLink.of(link.link()));
        }
    }

    /**
     * @param devices the same GPUs in the same order
     */
    static String status(DeviceStatus.Document document, List<DeviceInfo> devices) {
        DeviceText text = new DeviceText();
        for (int i = 0; i < document.devices().size(); i++) {
            text.out.append('\n');
            text.title("Device #" + i);
            text.status(document.devices().get(i), devices.get(i));
            text.out.append('\t');
        }
        return text.aligned();
    }

    private void status(DeviceStatus status, DeviceInfo device) {
        line("  Power:", of(status.power(), device.power()), " W");
        line("  Temperature:", status.temperature(), " °C");
        title("  Utilization");
        line("    GPU:", status.utilization().gpu(), " %");
        line("    Memory:", status.utilization().memory(), " %");
        line("    Encoder:", status.utilization().encoder(), " %");
        line("    Decoder:", status.utilization().decoder(), " %");
        title("  Memory");
        line("    Global:", of(status.memory().globalUsed(), device.memory().global()), " MiB");
        title("    ECC Errors");
        line("      L1 Cache:", status.memory().eccErrors().l1Cache());
        line("      L2 Cache:", status.memory().eccErrors().l2Cache());
        line("      Global:", status.memory().eccErrors().global());
        title("  PCI");
        line("    BAR1:", of(status.pci().bar1Used(), device.pci().bar1()), " MiB");
        title("    Throughput");
        line("      RX:", status.pci().throughput().rx(), " MB/s");
        line("      TX:", status.pci().throughput().tx(), " MB/s");
        clocks(status.clocks());
        processes(status.processes());
    }

    private void processes(List<DeviceStatus.Process> processes) {
        if (processes == null) {
            line("  Processes:", "None");
            return;
        }
        title("  Processes");
        for (DeviceStatus.Process process : processes) {
            line("    - PID:", process.pid());
            line("      Name:", process.name() == null ? null : Quote.shown(process.name()));
            line("      Memory:", process.memoryUsed(), " MiB");
        }
    }

    private static String of(Object part, Object whole) {
        return part == null || whole == null ? null : part + " / " + whole;
    }

    private void title(String text) {
        out.append(text.isEmpty() ? "" : "\t").append(text).append('\n');
    }

    private void line(String label, Object value) {
        line(label, value, "");
    }

    /**
     * @param value null if it is not known
     */
    private void line(String label, Object value, String unit) {
        out.append('\t').append(label).append("  \t");
        out.append(value == null ? UNKNOWN : value + unit).append('\n');
    }

    private String aligned() {
        return TabbedText.aligned(out + "\n\t");
    }
}
