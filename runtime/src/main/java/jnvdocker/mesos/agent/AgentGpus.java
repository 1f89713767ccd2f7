package jnvdocker.mesos.agent;

import jnvdocker.host.Gpu;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.words.Indices;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.function.Predicate;

/**
 * Which of a host's GPUs an agent offers. A GPU that is held counts, since it will be free again.
 *
 * @param offered in order of index
 * @param leftOut of those that were wanted, each with the reason, for people
 */
record AgentGpus(List<Gpu> offered, List<String> leftOut) {

    AgentGpus {
        offered = List.copyOf(offered);
        leftOut = List.copyOf(leftOut);
    }

    /** Selects the GPUs that are wanted and can be given out. */
    static AgentGpus of(List<GpuStatus> host, Predicate<Gpu> wanted) {
        List<Gpu> offered = new ArrayList<>();
        List<String> leftOut = new ArrayList<>();
        for (GpuStatus status : host) {
            Gpu gpu = status.gpu();
            if (gpu.part().isEmpty() && wanted.test(gpu)) {
                String trouble = trouble(status);
                if (trouble.isEmpty()) {
                    offered.add(gpu);
                } else {
                    leftOut.add(
                            LeaseText.name(gpu.number(), gpu.uuid()) + " is left out: " + trouble);
                }
            }
        }
        return new AgentGpus(offered, leftOut);
    }

    /** Why it is not given out; empty when it is, now or after its holder. */
    private static String trouble(GpuStatus status) {
        if (status.state() == GpuStatus.State.MISSING) {
            return status.note();
        }
        if (!status.gpu().isSound()) {
            return status.gpu().trouble().map(Refusal::what).orElseThrow();
        }
        if (!status.gpu().hasUuid()) {
            return "it has no UUID yet";
        }
        if (status.cordon().isPresent()) {
            return status.cordon().map(LeaseText::cordoned).orElseThrow();
        }
        return status.state() == GpuStatus.State.UNMANAGED ? status.note() : "";
    }

    /** All whole ones that are there, given out or not. */
    static List<Gpu> present(List<GpuStatus> host) {
        return host.stream()
                .filter(status -> status.state() != GpuStatus.State.MISSING)
                .map(GpuStatus::gpu)
                .filter(gpu -> gpu.part().isEmpty())
                .toList();
    }

    /**
     * The indices that {@code --nvidia_gpu_devices} lists.
     *
     * @throws RefusedException when one is no number
     */
    static List<Integer> parseDevices(String text) throws RefusedException {
        List<Integer> indices = new ArrayList<>();
        for (String word : text.split(",", -1)) {
            if (!word.strip().matches("[0-9]{1,9}")) {
                String shown = Quote.quoted(word);
                throw new RefusedException(
                        AgentFlags.INVALID
                                + "Failed to load value "
                                + shown
                                + ": Failed to numify "
                                + shown,
                        "write indices, as in 0,2 ('jnvdocker gpu ls' shows them)");
            }
            indices.add(Integer.parseInt(word.strip()));
        }
        return indices;
    }

    /**
     * @param count how many the resources say
     * @param host those that are there
     * @throws RefusedException when the list is not one of that many different GPUs of this host
     */
    static void check(List<Integer> devices, int count, List<Gpu> host) throws RefusedException {
        if (new HashSet<>(devices).size() < devices.size()) {
            throw new RefusedException(
                    AgentFlags.INVALID + "'--nvidia_gpu_devices' contains duplicates",
                    "name each GPU once");
        }
        if (devices.size() != count) {
            throw new RefusedException(
                    AgentFlags.INVALID
                            + "'--resources' and '--nvidia_gpu_devices' specify different numbers"
                            + " of GPU devices",
                    "write gpus:" + devices.size() + ", or list " + count);
        }
        checkCount(count, host);
        for (int index : devices) {
            if (host.stream().noneMatch(gpu -> gpu.index() == index)) {
                throw new RefusedException(
                        AgentFlags.INVALID + "GPU device not found: " + index,
                        "this host has " + indices(host));
            }
        }
    }

    static void checkCount(int count, List<Gpu> host) throws RefusedException {
        if (count > host.size()) {
            throw new RefusedException(
                    AgentFlags.INVALID
                            + "The number of GPUs requested is greater than the number of GPUs"
                            + " available on the machine",
                    "this host has " + indices(host));
        }
    }

    static String indices(List<Gpu> gpus) {
        return gpus.isEmpty() ? "none" : Indices.numbers(gpus.stream().map(Gpu::number));
    }
}
