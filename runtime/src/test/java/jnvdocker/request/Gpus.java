package jnvdocker.request;

import jnvdocker.host.Gpu;

import java.util.List;

/** The GPUs of a host as the tests need them. As on real hosts, minors are not indices. */
public final class Gpus {
    static final Gpu A = gpu(0, "GPU-5c1a1003-1d2c-4e5f-8a9b-012345678901", 3, "0000:07:00.0");
    static final Gpu B = gpu(1, "GPU-5c1a2006-1d2c-4e5f-8a9b-012345678902", 0, "0000:af:00.0");
    static final Gpu C = gpu(2, "GPU-77777777-1d2c-4e5f-8a9b-012345678903", 1, "0001:07:00.0");
    public static final List<Gpu> ALL = List.of(A, B, C);

    private Gpus() {}

    private static Gpu gpu(int index, String uuid, int minor, String pciAddress) {
        return new Gpu(index, uuid, minor, pciAddress, "NVIDIA A100-SXM4-40GB");
    }
}
