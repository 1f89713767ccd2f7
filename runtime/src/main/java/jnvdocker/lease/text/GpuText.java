package jnvdocker.lease.text;

import jnvdocker.host.Gpu;
import jnvdocker.words.Refusal;

/** Speaks of a GPU that may have a fault. */
public final class GpuText {
    private GpuText() {}

    /** {@code GPU 2 (GPU-5c1a3009)}, or {@code GPU 2 at 0000:47:00.0} of one without a name. */
    public static String name(Gpu gpu) {
        return gpu.isIdentified()
                ? LeaseText.name(gpu.number(), gpu.uuid())
                : "GPU " + gpu.number() + " at " + gpu.pciAddress();
    }

    /** Describes why a GPU is not given out, and the remedy. */
    public static Refusal sick(Gpu gpu) {
        return gpu.trouble().orElseThrow().precededBy(name(gpu) + " cannot be given out: ");
    }
}
