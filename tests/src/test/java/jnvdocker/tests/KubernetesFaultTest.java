package jnvdocker.tests;

import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.FakeNvml;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.TestDaemon;
import jnvdocker.tests.world.TestKubelet;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/** A kubelet learns of faults that NVML reports, and of their ends. */
@Tag("root")
@Tag("tree")
class KubernetesFaultTest {
    private static final String ADDRESS = "0000:07:00.0";

    private DriverRoot host;
    private FakeNvml nvml;
    private Path directory;
    private TestKubelet kubelet;
    private TestDaemon daemon;

    @BeforeEach
    void open() throws IOException {
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535, 2);
        nvml = FakeNvml.of(host, "a100x8");
        directory = Directories.make("kubelet");
        kubelet = TestKubelet.start(directory);
        daemon = new TestDaemon(host);
        daemon.config("[kubernetes]\nenabled = true\nkubelet_dir = \"" + directory + "\"\n");
    }

    @AfterEach
    void close() throws IOException {
        daemon.close();
        kubelet.close();
        host.close();
        Directories.remove(directory);
    }

    @Test
    void gpuWithAnErrorIsNotHealthyUntilRootTakesItBack() {
        List<String> uuids =
                daemon.jnvdocker("gpu", "ls", "--json").run().json().findValuesAsText("uuid");
        kubelet.awaitHealthy(TestKubelet.GPU, Set.copyOf(uuids));
        // Until a server listens.
        Lab.await(() -> {
            nvml.add(ADDRESS, "xid 95");
            LockSupport.parkNanos(500_000_000);
            return kubelet.healthy(TestKubelet.GPU).size() == 1
                    ? List.of()
                    : List.of("it is healthy");
        });
        kubelet.awaitHealthy(TestKubelet.GPU, Set.of(uuids.get(1)));
        daemon.jnvdocker("gpu", "uncordon", "0").run().ok();
        kubelet.awaitHealthy(TestKubelet.GPU, Set.copyOf(uuids));
    }
}
