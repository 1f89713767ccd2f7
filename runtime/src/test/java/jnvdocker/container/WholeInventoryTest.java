package jnvdocker.container;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.labels.RefusedException;

import org.junit.jupiter.api.Test;

import java.util.List;

class WholeInventoryTest {
    private final GpuAllocator allocator = new WholeInventory();

    @Test
    void noneIsNoGpuEvenWhereThereIsNone() throws RefusedException {
        assertEquals(List.of(), allocate(new GpuRequest.None()));
        assertEquals(List.of(), allocator.allocate(new GpuRequest.None(), List.of()));
    }

    @Test
    void allIsEveryGpu() throws RefusedException {
        assertEquals(Gpus.ALL, allocate(new GpuRequest.All()));
    }

    @Test
    void countIsTheLowestIndices() throws RefusedException {
        assertEquals(List.of(Gpus.A, Gpus.B), allocate(new GpuRequest.Count(2)));
        assertEquals(Gpus.ALL, allocate(new GpuRequest.Count(3)));
    }

    @Test
    void devicesComeInOrderOfIndex() throws RefusedException {
        assertEquals(
                List.of(Gpus.A, Gpus.C),
                allocate(new GpuRequest.Devices(List.of("2", Gpus.A.shortUuid(), "0"))));
    }

    @Test
    void moreThanThereAreIsRefused() {
        var error =
                assertThrows(
                        RefusedException.class,
                        () -> allocate(new GpuRequest.Count(Integer.MAX_VALUE)));
        assertTrue(error.getMessage().contains("this host has 3"), error.toString());
    }

    @Test
    void allOfNoneIsRefusedAndTheKernelsLogNamed() {
        var error =
                assertThrows(
                        RefusedException.class,
                        () -> allocator.allocate(new GpuRequest.All(), List.of()));
        assertTrue(error.getMessage().contains("dmesg"), error.toString());
    }

    private List<Gpu> allocate(GpuRequest request) throws RefusedException {
        return allocator.allocate(request, Gpus.ALL);
    }
}
