package jnvdocker.core;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.attack.Attack;
import jnvdocker.holder.Pace;
import jnvdocker.keeper.LostGroups;
import jnvdocker.lease.Claim;
import jnvdocker.lease.TestingLeases;
import jnvdocker.process.ProcessGroup;
import jnvdocker.registry.HostClock;
import jnvdocker.registry.LeaseRegistry;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

@Tag("root")
@Attack(
        by = "a daemon that died",
        what = "leaves a cgroup behind",
        result = "removed when it is empty")
class LostGroupsTest {
    @TempDir Path state;
    private final List<Path> made = new ArrayList<>();
    private LeaseRegistry registry;

    @BeforeEach
    void open() throws IOException {
        registry =
                LeaseRegistry.open(state, "boot", HostClock.OF_THIS_MACHINE, TestingLeases.RANDOM);
    }

    @AfterEach
    void close() throws Exception {
        registry.close();
        for (Path group : made) {
            // A process that has just ended stays in it for a moment.
            for (int i = 0; i < 1000 && !ProcessGroup.remove(group.toString()); i++) {
                Thread.sleep(10);
            }
        }
    }

    private Path group(String name, boolean old) throws IOException {
        Path hierarchy =
                Stream.of("devices", "unified", "")
                        .map(Path.of("/sys/fs/cgroup")::resolve)
                        .filter(directory -> Files.exists(directory.resolve("cgroup.procs")))
                        .findFirst()
                        .orElseThrow();
        Path group = Files.createDirectory(hierarchy.resolve(name));
        made.add(group);
        if (old) {
            Instant then = Instant.now().minusSeconds(3600);
            Files.setLastModifiedTime(group, FileTime.from(then));
        }
        return group;
    }

    @Test
    void emptyOnesGoThatNoLeaseTellsOf() throws Exception {
        Claim claim = TestingLeases.claim(TestingLeases.newKey().id(), ALICE, A);
        TestingLeases.reserve(registry, claim, TestingLeases.CLIENT);
        Path left = group("jnvdocker-" + TestingLeases.newKey().id(), true);
        Path live = group("jnvdocker-" + claim.id(), true);
        Path young = group("jnvdocker-" + TestingLeases.newKey().id(), false);
        Path other = group("jnvdocker-test-" + ProcessHandle.current().pid(), true);
        Path used = group("jnvdocker-" + TestingLeases.newKey().id(), true);
        Claim over = TestingLeases.claim(TestingLeases.newKey().id(), ALICE, B);
        TestingLeases.reserve(registry, over, TestingLeases.CLIENT);
        TestingLeases.end(registry, registry.liveOf(over.id()).orElseThrow(), "it has ended");
        Path ended = group("jnvdocker-" + over.id(), false);
        Process process = new ProcessBuilder("sleep", "1000").start();
        try {
            Files.writeString(used.resolve("cgroup.procs"), String.valueOf(process.pid()));
            new LostGroups(registry, Pace.REAL).remove();
        } finally {
            process.destroyForcibly().waitFor();
        }
        assertEquals(
                List.of(live, young, other, used), made.stream().filter(Files::exists).toList());
        assertEquals(List.of(left, ended), List.of(made.getFirst(), made.getLast()));
    }
}
