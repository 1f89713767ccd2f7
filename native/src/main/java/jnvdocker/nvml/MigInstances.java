package jnvdocker.nvml;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;

import jnvdocker.host.Part.Slices;
import jnvdocker.nvml.GpuFigures.Mig;
import jnvdocker.nvml.GpuFigures.MigInstance;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Reads whether a GPU is parted into MIG instances, and which. */
final class MigInstances {
    private static final int TEXT = 96;

    private final Nvml nvml;
    private final Pointer handle;

    MigInstances(Nvml nvml, Pointer handle) {
        this.nvml = nvml;
        this.handle = handle;
    }

    /** Empty for a GPU without MIG. */
    Optional<Mig> read() throws NvmlException {
        int[] current = new int[1];
        int[] pending = new int[1];
        if (!Fields.has(nvml, library -> library.nvmlDeviceGetMigMode(handle, current, pending))) {
            return Optional.empty();
        }
        boolean enabled = current[0] != 0;
        return Optional.of(new Mig(enabled, enabled ? instances() : List.of()));
    }

    private List<MigInstance> instances() throws NvmlException {
        List<MigInstance> found = new ArrayList<>();
        int places =
                Fields.number(
                                nvml,
                                (library, count) ->
                                        library.nvmlDeviceGetMaxMigDeviceCount(handle, count))
                        .orElse(0);
        for (int i = 0; i < places; i++) {
            int place = i;
            PointerByReference instance = new PointerByReference();
            int result =
                    nvml.queryUnless(
                            NvmlException.NOT_FOUND,
                            library ->
                                    library.nvmlDeviceGetMigDeviceHandleByIndex(
                                            handle, place, instance));
            if (result == NvmlException.SUCCESS) {
                add(place, places, instance.getValue(), found);
            }
        }
        return found;
    }

    /**
     * @param places how many instances of one slice the GPU has room for
     */
    private void add(int number, int places, Pointer instance, List<MigInstance> found) {
        try {
            found.add(instance(number, places, instance));
        } catch (NvmlException e) {
            // It was removed meanwhile; a lost GPU shows by its other figures.
        }
    }

    private MigInstance instance(int number, int places, Pointer instance) throws NvmlException {
        int[] gpuInstance = new int[1];
        int[] computeInstance = new int[1];
        nvml.call(library -> library.nvmlDeviceGetGpuInstanceId(instance, gpuInstance));
        nvml.call(library -> library.nvmlDeviceGetComputeInstanceId(instance, computeInstance));
        return new MigInstance(
                nvml.text(
                        TEXT,
                        (library, bytes) ->
                                library.nvmlDeviceGetUUID(instance, bytes, bytes.length)),
                number,
                gpuInstance[0],
                computeInstance[0],
                nvml.text(
                        TEXT,
                        (library, bytes) ->
                                library.nvmlDeviceGetName(instance, bytes, bytes.length)),
                Fields.memory(nvml, instance),
                Slices.of(slices(instance), places));
    }

    /** 0 if the driver does not report them. */
    private int slices(Pointer instance) throws NvmlException {
        int[] attributes = new int[LibNvml.ATTRIBUTES_INTS];
        boolean known =
                Fields.has(
                        nvml, library -> library.nvmlDeviceGetAttributes_v2(instance, attributes));
        return known ? attributes[LibNvml.COMPUTE_SLICES] : 0;
    }
}
