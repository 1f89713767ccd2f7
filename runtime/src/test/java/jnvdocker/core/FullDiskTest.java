package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.Lease;
import jnvdocker.lease.TestingLeases;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A claim's files cannot be written. */
class FullDiskTest extends SimulatedWorldTest {
    private static final String CLAIM = "000000000001";
    private static final String VOLUME = ClaimNames.volume(TestingLeases.key(CLAIM));

    @BeforeEach
    void open() throws IOException {
        LeaseRegistry registry = world.daemon.parts().registry();
        Claim claim =
                TestingLeases.claim(
                        CLAIM, TestingLeases.ALICE, world.gpus().subList(0, 1).toArray(Gpu[]::new));
        registry.claims().restore(claim, true);
    }

    private Path lease() {
        return state.resolve("claims/" + CLAIM + "/mount/lease.json");
    }

    /** Leaves no room at the place where the new file would be written first. */
    private void fill() throws IOException {
        Path fresh = state.resolve("claims/" + CLAIM + "/lease.json.new/in the way");
        Files.createDirectories(fresh);
    }

    private void mount(String use) throws RefusedException, IOException {
        world.daemon.parts().volumes().mount(VOLUME, use, TestingLeases.DOCKERD);
    }

    private List<Lease> live() throws IOException {
        return world.daemon.parts().registry().live();
    }

    @Test
    void containerThatIsStartedAgainSeesTheFileOfBefore() throws Exception {
        mount("a");
        String before = Files.readString(lease());
        world.daemon.parts().volumes().unmount(VOLUME, "a");
        TestingLeases.end(world.daemon.parts().registry(), live().getFirst(), "seen");
        fill();
        mount("b");
        assertEquals(before, Files.readString(lease()));
        assertEquals(1, live().size());
        assertEquals(1, live().getFirst().mounts());
    }

    @Test
    void containerThatWouldSeeNoneIsNotStarted() throws Exception {
        Files.createDirectories(lease().getParent());
        fill();
        assertThrows(IOException.class, () -> mount("a"));
        assertFalse(Files.exists(lease()));
        assertTrue(live().stream().allMatch(lease -> lease.mounts() == 0));
    }

    @Test
    void nothingIsLeftOfAFileThatCouldNotBeWritten() throws Exception {
        mount("a");
        Path fresh = state.resolve("claims/" + CLAIM + "/lease.json.new");
        Files.delete(lease());
        Files.createDirectories(lease().resolve("in the way"));
        assertThrows(IOException.class, () -> mount("b"));
        assertTrue(Files.notExists(fresh));
    }
}
