package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.ImageRegistry;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Images by each of their names, and their source: the same as with docker. */
class PullTest extends WantedEngineTest {
    private static final String NODES = "ls /dev/nvidia[0-9]* 2> /dev/null; true";

    private static ImageRegistry registry;
    private static String plain;
    private static String cuda;
    private static String digest;
    private static String id;

    @BeforeAll
    static void push() {
        registry = new ImageRegistry();
        plain = registry.name() + "/lab/plain";
        cuda = registry.name() + "/cuda:12";
        lab.engine().image("cuda", "--small", "--env", "NVIDIA_VISIBLE_DEVICES=all");
        docker("tag", "plain", plain).ok();
        docker("tag", "cuda", cuda).ok();
        for (String image : List.of(plain, cuda)) {
            docker("push", image).ok();
        }
        digest = lab.inspect(cuda, "{{index .RepoDigests 0}}");
        id = lab.inspect("cuda", "{{.Id}}");
    }

    @AfterAll
    static void stop() {
        registry.close();
    }

    /**
     * Runs docker directly and through jnvdocker, from the same initial state, and expects the same
     * output.
     */
    private static Command.Result assertLikeDockers(boolean there, Object... words) {
        start(there);
        long before = pulls();
        List<Object> run = new ArrayList<>(List.of("run", "--rm"));
        run.addAll(Arrays.asList(words));
        run.addAll(List.of("sh", "-c", NODES));
        Command.Result dockers = docker(run.toArray());
        long dockersPulls = pulls() - before;
        start(there);
        before = pulls();
        Command.Result ours = lab.jnvdocker(run.toArray());
        String text = Arrays.toString(words) + "\n" + dockers + ours;
        assertEquals(dockers.exitCode(), ours.exitCode(), text);
        assertEquals(words(dockers.err()), words(ours.err()), text);
        // What cannot be pulled docker tries once more, to say why.
        long more = dockers.exitCode() == 0 ? 0 : dockersPulls;
        long oursPulls = pulls() - before;
        assertTrue(oursPulls >= dockersPulls && oursPulls <= dockersPulls + more, text);
        return ours;
    }

    private static void start(boolean there) {
        docker("rmi", plain, cuda, digest);
        if (there) {
            docker("pull", "-q", plain).ok();
            docker("pull", "-q", cuda).ok();
        }
    }

    private static long pulls() {
        return registry.pulls("lab/plain") + registry.pulls("cuda");
    }

    /** Sorted, since layers end in any order. */
    private static List<String> words(String err) {
        return err.lines().sorted().toList();
    }

    @Test
    void missingImageIsPulledOnceAndAsDockerShowsIt() {
        for (String image : List.of(plain, cuda)) {
            Command.Result ours = assertLikeDockers(false, image);
            assertTrue(ours.err().contains("Unable to find image '" + image), ours::toString);
            assertTrue(ours.err().contains("Status: Downloaded newer image"), ours::toString);
        }
        assertEquals(
                "/dev/nvidia1\n",
                lab.jnvdocker("run", "--rm", "--gpus", "device=1", cuda, "sh", "-c", NODES)
                        .ok()
                        .out());
    }

    @Test
    void failedPullIsDockersOwn() {
        assertLikeDockers(false, registry.name() + "/lab/none:1");
        assertLikeDockers(false, "--pull=always", registry.name() + "/lab/none");
        assertLikeDockers(false, "--quiet", registry.name() + "/lab/none");
    }

    /**
     * As on a machine whose user has copied a configuration from another. An image that anybody may
     * pull is no case of it: docker pull does without the helper, and docker run does not.
     */
    @Test
    void missingOrFailingCredentialHelperIsDockersOwn() throws IOException {
        String none = registry.name() + "/lab/none:latest";
        Path config = Directories.make("credentials");
        Path broken = Directories.make("broken");
        Path failing = Directories.make("failing");
        Path helper = failing.resolve("docker-credential-fails");
        String path = failing + ":" + System.getenv("PATH");
        try {
            Files.writeString(helper, "#!/bin/sh\necho locked\nexit 1\n");
            assertTrue(helper.toFile().setExecutable(true));
            Files.writeString(failing.resolve("config.json"), "{\"credsStore\": \"fails\"}");
            Files.writeString(
                    config.resolve("config.json"), "{\"credsStore\": \"of-another-machine\"}");
            Files.writeString(broken.resolve("config.json"), "{\"credsStore\": 1}");
            for (Path each : List.of(config, broken, failing)) {
                for (List<String> words :
                        List.of(
                                List.of("run", "--rm", none, "true"),
                                List.of("run", "--rm", "--pull=always", none, "true"),
                                List.of("run", "--rm", "--quiet", none, "true"),
                                List.of("create", none),
                                List.of("pull", plain))) {
                    start(false);
                    Command.Result dockers =
                            lab.engine()
                                    .docker(words.toArray())
                                    .with("DOCKER_CONFIG", each)
                                    .with("PATH", path)
                                    .run();
                    start(false);
                    Command.Result ours =
                            lab.daemon()
                                    .jnvdocker(words.toArray())
                                    .with("DOCKER_CONFIG", each)
                                    .with("PATH", path)
                                    .run();
                    String text = words + "\n" + dockers + ours;
                    assertEquals(dockers.exitCode(), ours.exitCode(), text);
                    assertEquals(words(dockers.err()), words(ours.err()), text);
                }
            }
        } finally {
            Directories.remove(config);
            Directories.remove(broken);
            Directories.remove(failing);
        }
    }

    @Test
    void unknownContextIsDockersToSay() {
        for (String verb : List.of("run", "create", "pull")) {
            Object[] words = {"--context=nowhere", verb, plain};
            Command.Result dockers = docker(words);
            Command.Result ours = lab.jnvdocker(words);
            assertEquals(dockers.exitCode(), ours.exitCode(), ours::toString);
            assertEquals(dockers.err(), ours.err());
        }
    }

    @Test
    void policiesAreDockers() {
        for (String image : List.of(plain, cuda)) {
            for (boolean there : new boolean[] {false, true}) {
                for (String policy : List.of("always", "missing", "never")) {
                    assertLikeDockers(there, "--pull=" + policy, image);
                }
            }
        }
        assertLikeDockers(true, "--pull", "sometimes", cuda);
    }

    @Test
    void quietIsDockers() {
        for (String quiet : List.of("-q", "--quiet=true")) {
            assertLikeDockers(false, quiet, cuda);
            assertLikeDockers(true, quiet, "--pull=always", plain);
        }
    }

    @Test
    void platformIsDockers() {
        for (String platform : List.of("linux/amd64", "linux", "linux/arm64", "nonsense/x/y/z")) {
            for (boolean there : new boolean[] {false, true}) {
                assertLikeDockers(there, "--platform", platform, cuda);
            }
        }
    }

    @Test
    void everyNameOfAnImageMeansIt() {
        assertLikeDockers(false, digest);
        assertLikeDockers(false, cuda + "@" + digest.substring(digest.indexOf('@') + 1));
        for (String name : List.of(id, id.substring(7), id.substring(7, 19), "cuda:latest")) {
            assertEquals(
                    "/dev/nvidia1\n",
                    lab.jnvdocker("run", "--rm", "--gpus", "device=1", name, "sh", "-c", NODES)
                            .ok()
                            .out(),
                    name);
        }
    }

    @Test
    void imageThatIsNowhereIsDockersToSay() {
        assertLikeDockers(true, registry.name() + "/no/such:1");
        assertLikeDockers(true, plain + ":9");
        assertLikeDockers(true, plain + "@sha256:" + "0".repeat(64));
        assertLikeDockers(true, "localhost:1/x");
        assertLikeDockers(true, "-q", registry.name() + "/no/such:1");
    }
}
