package jnvdocker.holder;

import jnvdocker.host.Gpu;

import java.io.IOException;
import java.util.List;

/** Reads the GPUs that the host has at this moment, with their known faults. */
@FunctionalInterface
public interface PresentGpus {
    List<Gpu> gpus() throws IOException;
}
