package jnvdocker.nvml;

import jnvdocker.host.Gpu;

import java.time.Instant;

/** A fault for which a GPU is not given out. */
public sealed interface Fault {
    /** A session of NVML keeps a GPU from being reset, and so does any process that has it open. */
    String RESET = "stop jnvdockerd and reset it (nvidia-smi --gpu-reset), or restart the host";

    Instant since();

    /** For people: {@code Xid 79 (it fell off the bus)}. */
    String what();

    /** What to do about it. */
    default String remedy(Gpu gpu) {
        return RESET;
    }

    /**
     * It does not answer.
     *
     * @param message NVML's reason: {@code GPU is lost}
     */
    record NotResponding(String message, Instant since) implements Fault {
        @Override
        public String what() {
            return "NVML says '" + message + "'";
        }

        @Override
        public String remedy(Gpu gpu) {
            return "search dmesg for Xid, then " + RESET;
        }
    }

    /**
     * Its driver has reported a serious error, after which it needs a reset.
     *
     * @param xid its number in NVIDIA's list
     */
    record Reported(int xid, Instant since) implements Fault {
        @Override
        public String what() {
            return "Xid " + xid + Xids.serious(xid).map(" (%s)"::formatted).orElse("");
        }
    }

    /** A page or row of its memory is to be taken out of use, at its next reset. */
    record ResetDue(Instant since) implements Fault {
        @Override
        public String what() {
            return "a page or row of its memory waits to be taken out of use";
        }
    }

    /** A row of its memory is broken, and no spare one is left. */
    record OutOfSpareRows(Instant since) implements Fault {
        @Override
        public String what() {
            return "a row of its memory is broken, and no spare row is left for it";
        }

        @Override
        public String remedy(Gpu gpu) {
            return "have the GPU replaced";
        }
    }
}
