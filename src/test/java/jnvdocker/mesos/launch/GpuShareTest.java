package jnvdocker.mesos.launch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.request.GpuRequest;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

class GpuShareTest {
    @TempDir Path agent;

    private static ContainerConfig.Resource gpus(double count) {
        return new ContainerConfig.Resource("gpus", count, List.of());
    }

    private static ContainerConfig.Resource uuids(String... uuids) {
        return new ContainerConfig.Resource("gpu_uuids", 0, List.of(uuids));
    }

    private static GpuRequest request(ContainerConfig.Resource... resources)
            throws RefusedException {
        return GpuShare.request(List.of(resources));
    }

    private static String refusal(ContainerConfig.Resource... resources) {
        return assertThrows(RefusedException.class, () -> request(resources)).getMessage();
    }

    @Test
    void wholeGpusAreACount() throws RefusedException {
        assertEquals(new GpuRequest.Count(2), request(gpus(2)));
    }

    @Test
    void otherResourcesDoNotCount() throws RefusedException {
        var cpus = new ContainerConfig.Resource("cpus", 4, List.of());
        assertEquals(new GpuRequest.None(), request(cpus, gpus(0)));
        assertEquals(new GpuRequest.None(), request());
    }

    @Test
    void partsOfDifferentRolesAddUp() throws RefusedException {
        assertEquals(new GpuRequest.Count(3), request(gpus(1), gpus(2)));
    }

    @Test
    void setNamesGpus() throws RefusedException {
        assertEquals(
                new GpuRequest.Devices(List.of("GPU-1a", "GPU-2b")),
                request(uuids("GPU-1a", "GPU-2b")));
        assertEquals(new GpuRequest.Devices(List.of("GPU-1a")), request(uuids("GPU-1a"), gpus(1)));
    }

    @ParameterizedTest
    @ValueSource(
            doubles = {
                0.5,
                1.001,
                -1,
                257,
                1e300,
                Double.NaN,
                Double.POSITIVE_INFINITY,
                Double.NEGATIVE_INFINITY
            })
    void valueThatIsNoNumberOfGpusIsRefused(double gpus) {
        assertTrue(
                refusal(gpus(gpus)).startsWith("the 'gpus' resource must be an unsigned integer"),
                () -> refusal(gpus(gpus)));
    }

    @Test
    void manyPartsDoNotOverflow() {
        refusal(gpus(1e308), gpus(1e308), gpus(-1e308));
    }

    @Test
    void setAndCountMustAgree() {
        assertEquals(
                "the task has gpus:2 and names 1 in gpu_uuids; use only one of the two",
                refusal(gpus(2), uuids("GPU-1a")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "GPU 1", "../x", "GPU-1,GPU-2", "\u0000"})
    void valueThatIsNoUuidIsRefused(String id) {
        assertTrue(
                refusal(uuids(id)).contains("values that are not UUIDs"), () -> refusal(uuids(id)));
    }

    /** Before Mesos 1.10, its configuration does not state its resources. */
    @Test
    void nestedContainerWithoutResourcesHasThoseOfItsParent() throws Exception {
        TestingConfig.of().resource("gpus", 2).write(agent.resolve("containers/a"));
        Path nested = agent.resolve("containers/a/containers/b");
        TestingConfig.of().write(nested);
        RuntimeDirectory directory = RuntimeDirectory.of(nested.toString());
        GpuShare share = GpuShare.of(directory, directory.config());
        assertEquals(new GpuRequest.Count(2), share.request());
        assertEquals("a", share.owner().id());
        assertTrue(share.isInherited());
    }

    @Test
    void nestedContainerWithResourcesHasItsOwn() throws Exception {
        TestingConfig.of().resource("gpus", 2).write(agent.resolve("containers/a"));
        Path nested = agent.resolve("containers/a/containers/b");
        TestingConfig.of().resource("cpus", 1).write(nested);
        RuntimeDirectory directory = RuntimeDirectory.of(nested.toString());
        GpuShare share = GpuShare.of(directory, directory.config());
        assertEquals(new GpuRequest.None(), share.request());
        assertEquals("a.b", share.owner().id());
    }

    @Test
    void parentThatCannotBeReadIsNoShareOfNothing() throws Exception {
        Path nested = agent.resolve("containers/a/containers/b");
        TestingConfig.of().write(nested);
        RuntimeDirectory directory = RuntimeDirectory.of(nested.toString());
        assertThrows(IOException.class, () -> GpuShare.of(directory, directory.config()));
    }
}
