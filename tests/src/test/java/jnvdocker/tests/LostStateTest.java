package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.RuntimeInstallation;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What {@code gpu doctor} says when the state directory is lost while GPUs are held. */
class LostStateTest extends OneEngineTest {
    private static final String LOST = "hint: the registry was lost while GPUs were held: ";
    private static final String WHAT =
            "; history, bookings, cordons by command and time limits are lost; cordon and book"
                    + " again";

    private static RuntimeInstallation runtime;

    @BeforeAll
    static void install() {
        runtime = RuntimeInstallation.of(lab);
    }

    @AfterAll
    static void uninstall() {
        runtime.close();
    }

    private static void start(String way) {
        if (way.equals("jnvdocker")) {
            lab.run("train", 0, "--runtime=runc");
        } else {
            String run =
                    "run -d --runtime=nvidia --name=train --gpus=device=0 --stop-signal=KILL plain"
                            + " sleep 1000";
            lab.docker((Object[]) run.split(" ")).ok();
        }
    }

    private static void lose(String... names) throws IOException {
        lab.daemon().stop();
        Path state = lab.daemon().state();
        for (String name : names) {
            if (Files.isDirectory(state.resolve(name))) {
                Directories.remove(state.resolve(name));
            } else {
                Files.deleteIfExists(state.resolve(name));
            }
        }
        lab.startDaemon();
    }

    private static List<String> found(String check) {
        return DoctorTest.findings(
                        DoctorTest.report(lab.jnvdocker("gpu", "doctor", "--json")), check)
                .stream()
                .filter(text -> !text.startsWith("ok: "))
                .toList();
    }

    @ParameterizedTest
    @ValueSource(strings = {"jnvdocker", "docker"})
    void lostRegistryIsToldWithWhatIsKnownAgain(String way) throws IOException {
        start(way);
        lose("registry.db", "registry.db-wal", "registry.db-shm");
        assertEquals(List.of(LOST + "1 lease is known again" + WHAT), found("registry"));
        assertEquals(List.of(), found("others"));
        lab.daemon().stop();
        lab.startDaemon();
        assertEquals(List.of(), found("registry"));
    }

    /** A running one is known again by its claim's file, one that is stopped by its labels. */
    @ParameterizedTest
    @ValueSource(strings = {"nvidia", "runc"})
    void containerIsStartedAgainWithWhatWasRequested(String way) throws IOException {
        String run =
                "run -d --runtime=%s --name=train --gpus=device=0,1 --stop-signal=KILL plain sleep"
                        + " 1000";
        lab.jnvdocker((Object[]) run.formatted(way).split(" ")).ok();
        lose("registry.db", "registry.db-wal", "registry.db-shm");
        lab.docker("restart", "train").ok();
        lab.awaitSharers(Map.of(0, "train", 1, "train"));
        assertEquals(Set.of("root"), users());
        lab.docker("stop", "train").ok();
        lab.awaitSharers(Map.of());
        lose("registry.db", "registry.db-wal", "registry.db-shm");
        lab.docker("start", "train").ok();
        lab.awaitSharers(Map.of(0, "train", 1, "train"));
        // Nothing of the registry says whose it is, and everybody can set labels.
        assertEquals(Set.of(way.equals("runc") ? "root" : "somebody"), users());
    }

    private static Set<String> users() {
        return Set.copyOf(
                lab.jnvdocker("gpu", "leases", "--json").ok().json().findValuesAsText("user"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"jnvdocker", "docker"})
    void holderWithoutClaimIsToldOnceWithItsEnd(String way) throws IOException {
        start(way);
        lose("registry.db", "registry.db-wal", "registry.db-shm", "claims");
        assertEquals(
                List.of(
                        LOST
                                + "1 holder has none"
                                + WHAT
                                + ", and end the holders that check others names"),
                found("registry"));
        List<String> others = found("others");
        assertEquals(1, others.size(), others::toString);
        String id = lab.inspect("train", "{{.Id}}").substring(0, 12);
        Lab.assertMatches(
                "wrong: GPU(s 0-3 count| 0 \\(GPU-5c1a0000\\) counts) as used by process sleep"
                        + " \\(pid \\d+\\) of container "
                        + id
                        + ": its lease was lost, or is held by another; end it \\(docker rm -f "
                        + id
                        + "\\), and run it again: nobody else gets the GPUs before",
                others.getFirst());
        Command.Result refused = lab.gpuContainer("run", "other", 0, "--runtime=runc").run();
        assertEquals(125, refused.exitCode(), refused::toString);
        lab.docker("rm", "-f", id).ok();
        Lab.await(() -> found("others"));
        lab.run("next", 0, "--runtime=runc");
    }
}
