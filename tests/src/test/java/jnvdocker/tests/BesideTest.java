package jnvdocker.tests;

import static jnvdocker.tests.world.Lab.assertRefused;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.RuntimeInstallation;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Several containers and programs of one user on the same GPUs, by {@code --gpus with=NAME}, with
 * claim volumes and with the OCI runtime.
 */
@ParameterizedClass
@ValueSource(booleans = {false, true})
class BesideTest extends OneEngineTest {
    private static final int ALICE = 61001;
    private static final int BOB = 61002;

    private static Optional<RuntimeInstallation> runtime = Optional.empty();

    @Parameter boolean byRuntime;

    @BeforeParameterizedClassInvocation
    static void install(boolean byRuntime) {
        if (byRuntime) {
            runtime = Optional.of(RuntimeInstallation.of(lab));
        }
    }

    @AfterParameterizedClassInvocation
    static void uninstall() {
        runtime.ifPresent(RuntimeInstallation::close);
    }

    @AfterEach
    void isNotLimited() {
        lab.configure("");
    }

    private static Instant due(String container) {
        return Instant.parse(lab.lease(container).path("due").asText());
    }

    private static List<String> nodes(String container) {
        return lab.docker("exec", container, "sh", "-c", "ls /dev/nvidia[0-9]*")
                .ok()
                .out()
                .lines()
                .toList();
    }

    @Test
    void theSecondHasTheGpusOfTheFirstUntilBothHaveEnded() {
        lab.startAs(ALICE, "train", "device=1,2").run().ok();
        lab.startAs(ALICE, "eval", "with=train").run().ok();
        lab.awaitSharers(Map.of(1, "train and eval", 2, "train and eval"));
        assertEquals(2, nodes("eval").size());
        assertEquals(nodes("train"), nodes("eval"));
        String table = lab.jnvdocker("gpu", "ls").ok().out();
        assertTrue(table.matches("(?s).* train .*eval has it, too.*"), table);
        String why = lab.jnvdocker("gpu", "why", "1").ok().out();
        assertTrue(why.contains("container eval since "), why);
        assertTrue(why.contains("It becomes free when all of them have ended."), why);
        Command.Result typo = lab.jnvdocker("gpu", "why", "trian");
        assertTrue(typo.err().endsWith("; did you mean train?\n"), typo::toString);
        assertTrue(
                lab.jnvdocker("gpu", "why", "eval").ok().out().contains("container train since "),
                "of the other");

        assertRefused("GPU 1 .* is held by .*container train", lab.startAs(BOB, "x1", "device=1"));
        assertRefused(
                "--gpus with=train: GPUs 1,2 are held by .*, and cannot be given to this one, too",
                lab.startAs(BOB, "x2", "with=train"));
        lab.docker("stop", "train").ok();
        lab.awaitSharers(Map.of(1, "eval", 2, "eval"));
        assertRefused("GPU 1 .* is held by .*container eval", lab.startAs(BOB, "x3", "device=1"));
        assertRefused(
                "--gpus with=train: no container or process of that name holds a GPU",
                lab.startAs(ALICE, "x4", "with=train"));
        lab.docker("rm", "-f", "eval").ok();
        lab.awaitSharers(Map.of());
        lab.docker("rm", "-f", "x1", "x2", "x3", "x4");
        lab.startAs(BOB, "next", "device=1").run().ok();
        lab.awaitSharers(Map.of(1, "next"));
    }

    @Test
    void bothKeepThemWhenOneIsStartedAgain() {
        lab.startAs(ALICE, "train", "device=1").run().ok();
        lab.startAs(ALICE, "eval", "with=train").run().ok();
        lab.awaitSharers(Map.of(1, "train and eval"));
        lab.docker("restart", "eval").ok();
        lab.awaitSharers(Map.of(1, "train and eval"));
        lab.docker("restart", "train").ok();
        lab.awaitSharers(Map.of(1, "eval and train"));
        lab.docker("stop", "train").ok();
        lab.docker("restart", "eval").ok();
        lab.awaitSharers(Map.of(1, "eval"));
        lab.docker("stop", "eval").ok();
        lab.awaitSharers(Map.of());
    }

    @Test
    void aProgramHasTheGpusOfAContainer() {
        lab.startAs(ALICE, "train", "device=1").run().ok();
        Command.Result program =
                lab.as(
                                ALICE,
                                "gpu",
                                "run",
                                "--gpus",
                                "with=train",
                                "printenv",
                                "CUDA_VISIBLE_DEVICES")
                        .run()
                        .ok();
        String uuid = lab.lease("train").path("gpus").path(0).path("uuid").asText();
        assertEquals(uuid + "\n", program.out());
        lab.awaitSharers(Map.of(1, "train"));
    }

    /** Else a user could go on for ever by containers that take the GPUs over from each other. */
    @Test
    void noneLastsLongerThanTheFirstMay() {
        lab.configure("[limits]\n'*' = { gpus = 1, max_hold = '4h' }\n");
        lab.startAs(ALICE, "train", "device=1", "--gpu-time", "1h").run().ok();
        lab.startAs(ALICE, "eval", "with=train").run().ok();
        lab.awaitSharers(Map.of(1, "train and eval"));
        assertTrue(due("eval").compareTo(due("train")) <= 0, due("eval") + " " + due("train"));
        assertRefused(
                "was given the GPUs of another container, and ends with its time; extend claim "
                        + lab.lease("train").path("claim").asText()
                        + " first",
                lab.as(ALICE, "gpu", "extend", "eval", "30m"));
        lab.as(ALICE, "gpu", "extend", "train", "30m").run().ok();
        lab.as(ALICE, "gpu", "extend", "eval", "30m").run().ok();
        assertTrue(due("eval").compareTo(due("train")) <= 0, due("eval") + " " + due("train"));
        assertRefused(" has 1 of the 1 GPU that", lab.startAs(ALICE, "third", "1"));
    }
}
