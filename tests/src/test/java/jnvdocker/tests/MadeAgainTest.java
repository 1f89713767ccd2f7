package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.RuntimeInstallation;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Programs that update containers, as watchtower, make a container of {@code jnvdocker run} again,
 * with the configuration that docker reports, by claim volumes and by the OCI runtime.
 */
@ParameterizedClass
@ValueSource(booleans = {false, true})
class MadeAgainTest extends OneEngineTest {
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
        runtime = Optional.empty();
    }

    /** The configuration with which such a program makes a container again. */
    private static String configuration(String container) {
        JsonNode found = lab.docker("inspect", container).json().path(0);
        ObjectNode made = ((ObjectNode) found.path("Config")).deepCopy();
        made.remove("Hostname");
        made.set("HostConfig", found.path("HostConfig"));
        return made.toString();
    }

    /** The same as a user gets it who makes the container by the proxy, which sets this label. */
    private static String labelled(String configuration, String owner) throws IOException {
        ObjectNode made = (ObjectNode) new ObjectMapper().readTree(configuration);
        made.withObject("/Labels").put("jnvdocker.owner", owner);
        return made.toString();
    }

    private static void trustLabels() {
        lab.configure("[runtime]\ntrust_owner = ['label']\n");
    }

    @AfterEach
    void trustNothing() {
        lab.configure("");
    }

    private static Command.Result make(String name, String configuration) {
        return lab.engine().post("containers/create?name=" + name, configuration).run();
    }

    private static void awaitHolders(Map<Integer, String> holders) {
        if (runtime.isEmpty()) {
            lab.awaitHolders(holders);
        } else {
            Lab.await(() -> {
                Map<Integer, String> now = lab.registry().holders();
                return now.equals(holders) ? List.of() : List.of(now + " instead of " + holders);
            });
        }
    }

    private static String started() {
        lab.startAs(ALICE, "server", "device=0", "--restart=unless-stopped").run().ok();
        awaitHolders(Map.of(0, "server"));
        return configuration("server");
    }

    private static void assertIsAlices() {
        assertIsThere();
        assertEquals(ALICE, lab.lease("server").path("uid").asInt());
    }

    private static void assertIsThere() {
        awaitHolders(Map.of(0, "server"));
        lab.docker("exec", "server", "sh", "-c", "test -c /dev/nvidia0").ok();
        lab.docker("exec", "server", "sh", "-c", "test ! -e /dev/nvidia1").ok();
    }

    /** As watchtower does it. Nothing shows to our OCI runtime whose the new container is. */
    @Test
    void removedContainerThatIsMadeAgainHasItsGpus() {
        String configuration = started();
        lab.docker("stop", "server").ok();
        lab.docker("rm", "server").ok();
        make("server", configuration).ok();
        lab.docker("start", "server").ok();
        assertIsThere();
        lab.docker("restart", "server").ok();
        assertIsThere();
        lab.daemon().stop();
        lab.startDaemon();
        assertIsThere();
        assertEquals(byRuntime, lab.lease("server").path("uid").isNull());
    }

    /** The proxy sets this label to the user who makes a container. */
    @Test
    void containerThatItsUserMakesAgainIsThatUsers() throws Exception {
        trustLabels();
        String configuration = started();
        lab.docker("rm", "-f", "server").ok();
        make("server", labelled(configuration, "uid:" + ALICE)).ok();
        lab.docker("start", "server").ok();
        assertIsAlices();
        lab.docker("restart", "server").ok();
        assertIsAlices();
    }

    /** Everybody who may inspect containers sees the label and the name of the volume. */
    @ParameterizedTest
    @ValueSource(strings = {"", "uid:" + BOB})
    void settingsOfARemovedPartnerGiveNobodyTheGpuOfTheOther(String owner) throws Exception {
        trustLabels();
        lab.startAs(ALICE, "train", "device=0").run().ok();
        lab.startAs(ALICE, "note", "with=train").run().ok();
        String configuration = configuration("note");
        lab.docker("rm", "-f", "note").ok();
        awaitHolders(Map.of(0, "train"));
        make("stolen", labelled(configuration, owner)).ok();
        assertRefused(
                "stolen",
                "(?s).*(has the settings of one of|names the claim"
                        + "|nothing shows that both belong to) .*");
        lab.daemon().kill();
        lab.startDaemon();
        assertTrue(lab.docker("start", "stolen").exitCode() != 0);
        awaitHolders(Map.of(0, "train"));
    }

    /** Root starts containers for others, and nobody starts one for root. */
    @Test
    void settingsOfRootsContainerGiveNobodyItsAccount() throws Exception {
        trustLabels();
        lab.jnvdocker("run", "-d", "--name=server", "--gpus=1", "plain", "sleep", "1000").ok();
        String configuration = configuration("server");
        lab.docker("rm", "-f", "server").ok();
        awaitHolders(Map.of());
        make("server", labelled(configuration, "uid:" + BOB)).ok();
        assertTrue(lab.docker("start", "server").exitCode() != 0);
        awaitHolders(Map.of());
    }

    /** As Portainer does it, which removes the first last. */
    @Test
    void copyOfOneThatIsThereIsRefused() {
        String configuration = started();
        lab.docker("stop", "server").ok();
        awaitHolders(Map.of());
        lab.docker("rename", "server", "server-old").ok();
        make("server", configuration).ok();
        assertRefused(
                "server",
                "(?s).*(is a copy of the settings|at the same time|which is not its own).*");
        lab.docker("start", "server-old").ok();
        awaitHolders(Map.of(0, "server-old"));
    }

    @Test
    void whatOthersHaveTakenMeanwhileIsTheirs() {
        String configuration = started();
        lab.docker("rm", "-f", "server").ok();
        awaitHolders(Map.of());
        lab.startAs(BOB, "bobs", "all").run().ok();
        make("server", configuration).ok();
        Command.Result refused = lab.docker("start", "server");
        assertTrue(
                refused.exitCode() != 0 && refused.err().contains("container bobs"),
                refused::toString);
        awaitHolders(Map.of(0, "bobs", 1, "bobs", 2, "bobs", 3, "bobs"));
        lab.docker("rm", "-f", "bobs").ok();
        awaitHolders(Map.of());
        lab.docker("start", "server").ok();
        assertIsThere();
    }

    /** The proxy sets this label to the user who makes a container. */
    @Test
    void anotherUserGetsNothingByAlicesSettings() throws Exception {
        trustLabels();
        String configuration = started();
        lab.docker("rm", "-f", "server").ok();
        awaitHolders(Map.of());
        make("server", labelled(configuration, "uid:" + BOB)).ok();
        assertRefused("server", "(?s).*(has the settings of one of|names the claim) .*");
        awaitHolders(Map.of());
    }

    /** It is one request, for one container at a time. */
    @Test
    void secondOneBesideTheFirstIsRefused() {
        String configuration = started();
        make("copy", configuration);
        Command.Result refused = lab.docker("start", "copy");
        assertTrue(refused.exitCode() != 0, refused::toString);
        assertIsAlices();
    }

    private void assertRefused(String container, String words) {
        Command.Result refused = lab.docker("start", container);
        assertTrue(refused.exitCode() != 0 && refused.err().matches(words), refused::toString);
    }
}
