package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.Rival;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Whichever docker command is applied to a container with GPUs, the registry names their holder,
 * and no other container gets them.
 */
@Attack(
        by = "a member",
        what =
                "reads the names of another's container from docker, and copies them to a"
                        + " container of their own, while the other one runs, is stopped or starts",
        result = "refused while the other one exists: a claim has one container")
@Attack(
        by = "a fault",
        what =
                "start of an old container, restart, policies, rename, `--rm`, pause, a kill"
                        + " that hangs",
        result =
                "refused in docker's own output while another has the GPU; a restarting"
                        + " container keeps it")
@Attack(
        by = "a fault",
        what = "GPUs vanish and are renumbered",
        result =
                "a start is refused with the command that makes the container again; a card that a"
                    + " running holder may open by its old node is given to nobody else, also after"
                    + " a restart of the daemon and a lost registry. Xid errors are not covered")
class ClaimLifecycleTest extends WantedEngineTest {
    /** Docker's own output names the holder of the GPU and the remedy. */
    private static void assertStartRefused(String container, int gpu, String holder) {
        Command.Result result = docker("start", container);
        assertEquals(1, result.exitCode(), result::toString);
        Lab.assertMatches(
                "(?s)Error.*GPU "
                        + gpu
                        + " \\(GPU-5c1a\\w{4}\\) is held by \\S+'s container "
                        + holder
                        + SINCE
                        + "; start this container again when it is free.*",
                result.err());
    }

    @Test
    void ageIsTheContainersAndRestartsAreCounted() {
        lab.run("train", 2);
        docker("restart", "train").ok();
        docker("restart", "train").ok();
        lab.awaitHolders(Map.of(2, "train"));
        String line = lab.jnvdocker("gpu", "ls").ok().out().lines().toList().get(3);
        assertTrue(line.endsWith("   restarted 2 times"), line);
        String why = lab.jnvdocker("gpu", "why", "2").ok().out();
        Lab.assertMatches(
                "(?s).*The container has had GPUs since .*, and was restarted 2 times\\..*", why);
    }

    private static long leaseOf(String container) {
        return lab.registry().liveOf(container).orElseThrow().id();
    }

    @Test
    void restartedContainerKeepsItsGpuThoughOthersWantItAllTheTime() {
        lab.create("old", 0);
        lab.run("train", 0);
        try (Rival newcomer = new Rival(() -> lab.gpuContainer("run", "newcomer", 0));
                Rival starter = new Rival(() -> lab.engine().docker("start", "old"))) {
            for (int i = 0; i < 4; i++) {
                docker("restart", "train").ok();
            }
            for (Rival rival : List.of(newcomer, starter)) {
                List<Command.Result> attempts = rival.stop();
                assertFalse(attempts.isEmpty());
                attempts.forEach(attempt ->
                        Lab.assertMatches("(?s).*is held by .* container train.*", attempt.err()));
            }
        }
        lab.awaitHolders(Map.of(0, "train"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"on-failure", "unless-stopped"})
    void containerThatIsRestartedByItsPolicyKeepsItsGpu(String policy) {
        lab.create("old", 1);
        lab.daemon()
                .jnvdocker(
                        "run",
                        "-d",
                        "--name=train",
                        "--gpus=device=1",
                        "--restart=" + policy,
                        "--stop-signal=KILL",
                        "plain",
                        "sh",
                        "-c",
                        "sleep 0.2; exit 1")
                .run()
                .ok();
        try (Rival newcomer = new Rival(() -> lab.gpuContainer("run", "newcomer", 1));
                Rival starter = new Rival(() -> lab.engine().docker("start", "old"))) {
            Lab.await(() -> {
                int restarts = Integer.parseInt(lab.inspect("train", "{{.RestartCount}}"));
                return restarts < 4 ? List.of("restarted " + restarts + " times") : List.of();
            });
            for (Rival rival : List.of(newcomer, starter)) {
                rival.stop()
                        .forEach(attempt ->
                                Lab.assertMatches(
                                        "(?s).*is held by .* container train.*", attempt.err()));
            }
        }
        docker("stop", "train").ok();
        lab.awaitHolders(Map.of());
        docker("start", "old").ok();
        lab.awaitHolders(Map.of(1, "old"));
    }

    @Test
    void containerThatIsNotRestartedAnyMoreGivesUpItsGpu() {
        lab.jnvdocker(
                        "run",
                        "-d",
                        "--name=train",
                        "--gpus=device=2",
                        "--restart=on-failure:2",
                        "plain",
                        "false")
                .ok();
        lab.awaitHolders(Map.of());
        assertEquals("2", lab.inspect("train", "{{.RestartCount}}"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"kill", "stop", "rm -f"})
    void endOfTheContainerIsTheEndOfItsLease(String verb) {
        lab.run("train", 3);
        lab.awaitHolders(Map.of(3, "train"));
        List<Object> words = new ArrayList<>(List.of(verb.split(" ")));
        words.add("train");
        docker(words.toArray()).ok();
        // Immediately, as soon as docker reports that it is done: no retry is needed.
        lab.run("next", 3);
        lab.awaitHolders(Map.of(3, "next"));
        Lab.assertMatches(
                "its first process \\(pid \\d+\\) is gone", lab.registry().ends("train").get(0));
    }

    @Test
    void copyingOutOfARunningContainerChangesNothing() throws Exception {
        lab.run("train", 0);
        lab.awaitHolders(Map.of(0, "train"));
        long lease = leaseOf("train");
        Path directory = lab.daemon().state();
        docker("cp", "train:/etc/passwd", directory.resolve("passwd")).ok();
        docker("cp", directory.resolve("passwd"), "train:/tmp/back").ok();
        assertEquals(
                Files.readString(directory.resolve("passwd")),
                docker("exec", "train", "cat", "/tmp/back").ok().out());
        assertRefused(0, "train");
        lab.awaitHolders(Map.of(0, "train"));
        assertEquals(lease, leaseOf("train"));
        docker("kill", "train").ok();
        lab.awaitHolders(Map.of());
    }

    @Test
    void copyingOutOfAStoppedContainerTakesItsGpuForThatLong() {
        lab.run("train", 0);
        docker("kill", "train").ok();
        lab.awaitHolders(Map.of());
        Path file = lab.daemon().state().resolve("copy");
        docker("cp", "train:/etc/passwd", file).ok();
        lab.awaitHolders(Map.of());
        lab.run("next", 0);
        Command.Result refused = docker("cp", "train:/etc/passwd", file);
        assertEquals(1, refused.exitCode(), refused::toString);
        Lab.assertMatches(
                "(?s)Error.*GPU 0 .* is held by .*container next"
                        + SINCE
                        + ".*, or remove the container and run it again to get other GPUs\n.*",
                refused.err());
        docker("export", "-o", file, "train").ok();
        lab.awaitHolders(Map.of(0, "next"));
    }

    @Test
    void committedImageCarriesTheLabelAndNoLease() {
        lab.run("train", 0);
        docker("commit", "train", "committed").ok();
        String image = docker("image", "inspect", "committed").ok().out();
        assertFalse(image.contains("GPU-"), image);
        String label = "{{index .Config.Labels \"jnvdocker.claim\"}}";
        String claim = lab.inspect("train", label);
        docker("run", "-d", "--name=plain", "--stop-signal=KILL", "committed", "sleep", "1000")
                .ok();
        assertEquals(claim, lab.inspect("plain", label));
        lab.awaitHolders(Map.of(0, "train"));
        lab.jnvdocker(
                        "run",
                        "-d",
                        "--name=own",
                        "--gpus=device=1",
                        "--stop-signal=KILL",
                        "committed",
                        "sleep",
                        "1000")
                .ok();
        assertNotEquals(claim, lab.inspect("own", label));
        lab.awaitHolders(Map.of(0, "train", 1, "own"));
        docker("kill", "plain").ok();
        docker("rm", "plain").ok();
        assertRefused(0, "train");
        docker("rm", "-f", "train").ok();
        docker("run", "--rm", "committed", "true").ok();
        lab.awaitHolders(Map.of(1, "own"));
        docker("rm", "-f", "own").ok();
        docker("rmi", "committed").ok();
    }

    @Test
    void pausedContainerKeepsItsGpu() {
        lab.run("train", 2);
        lab.awaitHolders(Map.of(2, "train"));
        docker("pause", "train").ok();
        assertRefused(2, "train");
        docker("unpause", "train").ok();
        lab.awaitHolders(Map.of(2, "train"));
    }

    @Test
    void renamedContainerIsCalledSo() {
        // Some engines cannot rename a container of a network that they lack.
        lab.run("train", 2, "--network=none");
        docker("rename", "train", "trained").ok();
        lab.awaitHolders(Map.of(2, "trained"));
        assertRefused(2, "trained");
        docker("kill", "trained").ok();
        lab.awaitHolders(Map.of());
        docker("rename", "trained", "old").ok();
        docker("start", "old").ok();
        lab.awaitHolders(Map.of(2, "old"));
    }

    /** As a backup of its data does. */
    @Test
    void volumesOfARunningContainerAreForOthersWithoutItsClaim() {
        docker("volume", "create", "data").ok();
        lab.run("train", 0, "--volume=data:/data");
        docker("exec", "train", "sh", "-c", "echo precious > /data/file").ok();
        String script = "cat /data/file; ls -A /run/jnvdocker; ls /dev/nvidia0";
        Command.Result backup =
                docker("run", "--rm", "--volumes-from=train", "plain", "sh", "-c", script);
        assertEquals("precious\n", backup.out(), backup::toString);
        docker("run", "-d", "--name=guest", "--volumes-from=train", "plain", "sleep", "1000").ok();
        lab.awaitHolders(Map.of(0, "train"));
        docker("kill", "train").ok();
        lab.awaitHolders(Map.of());
        docker("start", "train").ok();
        lab.awaitHolders(Map.of(0, "train"));
    }

    /** A helper that saves a stopped container's data needs no GPU, and keeps none from it. */
    @Test
    void volumesOfAStoppedContainerAreSavedWithoutALease() {
        docker("volume", "create", "data").ok();
        lab.create("train", 0, "--volume=data:/data");
        lab.run("other", 0);
        String script = "echo saved > /data/file; ls -A /run/jnvdocker; ls /dev/nvidia0";
        Command.Result backup =
                docker("run", "--rm", "--volumes-from=train", "plain", "sh", "-c", script);
        assertEquals("", backup.out(), backup::toString);
        docker("rm", "-f", "other").ok();
        Object[] guest = {
            "run",
            "-d",
            "--name=guest",
            "--volumes-from=train",
            "--stop-signal=KILL",
            "plain",
            "sleep",
            "1000"
        };
        docker(guest).ok();
        lab.awaitHolders(Map.of());
        docker("start", "train").ok();
        lab.awaitHolders(Map.of(0, "train"));
        docker("restart", "guest").ok();
        docker("restart", "-t0", "train").ok();
        lab.awaitHolders(Map.of(0, "train"));
        assertEquals("saved\n", docker("exec", "train", "cat", "/data/file").ok().out());
        String claim = docker("exec", "train", "ls", "/run/jnvdocker").ok().out();
        assertTrue(claim.contains("lease.json"), claim);
    }

    /** Docker mounts the claim for any of them, and does not say for which. */
    @Test
    void containerThatRestartsAtTheMomentOfItsGuestsIsStartedAgain() {
        lab.jnvdocker(
                        "run",
                        "-d",
                        "--name=train",
                        "--restart=always",
                        "--gpus=device=0",
                        "plain",
                        "sleep",
                        "1")
                .ok();
        for (String guest : List.of("one", "two", "three")) {
            docker(
                            "run",
                            "-d",
                            "--name=" + guest,
                            "--restart=always",
                            "--volumes-from=train",
                            "plain",
                            "sleep",
                            "1")
                    .ok();
        }
        Lab.await(() -> {
            String refused = lab.jnvdocker("gpu", "refusals").ok().out();
            return refused.contains("are started at the same time") ? List.of() : List.of(refused);
        });
        for (String each : List.of("train", "one", "two", "three")) {
            String before = started(each);
            Lab.await(() ->
                    started(each).equals(before)
                            ? List.of(docker("inspect", each).ok().out())
                            : List.of());
        }
    }

    private String started(String container) {
        return docker("inspect", "--format={{.State.StartedAt}}", container).ok().out();
    }

    private static void assertSharingRefused(Command.Result result, String with) {
        assertNotEquals(0, result.exitCode());
        Lab.assertMatches(
                "(?s).*GPU 0 \\(GPU-5c1a0000\\) is held by \\S+'s container train"
                        + SINCE
                        + ", and this container shares its claim with container "
                        + with
                        + " \\(--volumes-from.*stop that container first.*",
                result.err());
    }

    @Test
    void copyOfAContainersSettingsIsRefusedWhileThatRuns() {
        lab.run("train", 0);
        String claim = lab.inspect("train", "{{index .Config.Labels \"jnvdocker.claim\"}}");
        Object[] copy = {
            "run",
            "-d",
            "--name=copy",
            "--label=jnvdocker.claim=" + claim,
            "--device=" + lab.host().directory().resolve("dev/nvidia0") + ":/dev/nvidia0",
            "--mount=type=volume,src=jnvdocker_claim_"
                    + claim
                    + ",dst=/run/jnvdocker,volume-driver=nvidia-docker,readonly,volume-nocopy",
            "--stop-signal=KILL",
            "plain",
            "sleep",
            "1000"
        };
        assertSharingRefused(docker(copy), "train");
        lab.awaitHolders(Map.of(0, "train"));
        docker("kill", "train").ok();
        lab.awaitHolders(Map.of());
        Command.Result refused = docker("start", "copy");
        Lab.assertMatches(
                "(?s).*(this container is a copy of the settings of container train, and has its"
                        + " claim|at the same time); start .*",
                refused.err());
        lab.awaitHolders(Map.of());
        docker("start", "train").ok();
        lab.awaitHolders(Map.of(0, "train"));
        docker("rm", "-f", "train").ok();
        docker("start", "copy").ok();
        lab.awaitHolders(Map.of(0, "copy"));
    }

    @Test
    void oldContainerStartsAgainWhenItsGpuIsFree() {
        lab.run("old", 1);
        docker("kill", "old").ok();
        lab.run("train", 1);
        assertStartRefused("old", 1, "train");
        lab.awaitHolders(Map.of(1, "train"));
        docker("stop", "train").ok();
        docker("start", "old").ok();
        lab.awaitHolders(Map.of(1, "old"));
        assertStartRefused("train", 1, "old");
    }

    @ParameterizedTest
    @ValueSource(strings = {"before-create", "before-start"})
    void killedClientGivesBackWhatItReserved(String moment) throws Exception {
        Process client =
                lab.daemon()
                        .jnvdocker("run", "--gpus=device=0", "plain", "sleep", "1000")
                        .with("NV_DOCKER", Project.fixture("bin/hanging-docker") + " " + moment)
                        .start();
        assertEquals(moment, client.inputReader().readLine());
        assertEquals(Map.of(0, "reservation"), lab.registry().holders());
        Command.Result refused = lab.gpuContainer("run", "nobody", 0).run();
        Lab.assertMatches(
                "jnvdocker: GPU 0 .* is reserved by \\S+'s docker run \\(pid "
                        + client.pid()
                        + "\\).*\n",
                refused.err());
        client.destroyForcibly().waitFor();
        lab.run("next", 0);
        lab.awaitHolders(Map.of(0, "next"));
        int left = moment.equals("before-create") ? 0 : 1;
        assertEquals(left + 1, docker("ps", "-aq").ok().out().lines().count());
        assertEquals(left + 1, lab.registry().claims().size());
    }

    @Test
    void noneMakesNoClaim() {
        lab.jnvdocker("run", "-d", "--gpus=none", "--stop-signal=KILL", "plain", "sleep", "1000")
                .ok();
        lab.awaitHolders(Map.of());
        assertEquals(0, lab.registry().claims().size());
        assertEquals(0, lab.volumes().size());
    }

    /** Every user sees the id, in lists, messages and events; docker alone sees the secret. */
    @Test
    void idOfAReservationGivesItToNobody() throws Exception {
        Process client =
                lab.daemon()
                        .jnvdocker("run", "--gpus=device=0", "plain", "sleep", "1000")
                        .with("NV_DOCKER", Project.fixture("bin/hanging-docker") + " before-create")
                        .start();
        assertEquals("before-create", client.inputReader().readLine());
        String id = lab.registry().live().getFirst().claim();
        String secret = lab.registry().key(id).substring(id.length() + 1);
        for (String name : List.of(id, id + "-" + "0".repeat(32))) {
            Command.Result refused =
                    docker(
                            "run",
                            "-d",
                            "--name=thief",
                            "--device=" + lab.host().directory().resolve("dev/nvidia0"),
                            "--label=jnvdocker.claim=" + name,
                            "--mount=type=volume,src=jnvdocker_claim_"
                                    + name
                                    + ",dst=/run/jnvdocker,volume-driver=nvidia-docker",
                            "plain",
                            "sleep",
                            "1000");
            assertNotEquals(0, refused.exitCode(), refused::toString);
            // Docker makes an empty volume of its own of that name.
            docker("run", "--rm", "-v", "jnvdocker_claim_" + name + ":/x", "plain", "true").ok();
            docker("volume", "rm", "jnvdocker_claim_" + name).ok();
            assertEquals(Map.of(0, "reservation"), lab.registry().holders());
        }
        for (String command :
                List.of("ls --json", "why 0 --json", "why 0", "leases --json", "leases --all")) {
            Command.Result shown = lab.jnvdocker((Object[]) ("gpu " + command).split(" "));
            assertFalse((shown.out() + shown.err()).contains(secret), command);
        }
        client.destroyForcibly().waitFor();
        lab.run("next", 0);
        lab.awaitHolders(Map.of(0, "next"));
    }

    private static final String MADE_UP =
            "jnvdocker_claim_0123456789ab-0123456789abcdef0123456789abcdef";

    @Test
    void claimIsNotMadeByHand() {
        Command.Result refused = docker("volume", "create", "-d", "nvidia-docker", MADE_UP);
        assertEquals(1, refused.exitCode(), refused::toString);
        assertTrue(
                refused.err().contains("no such claim: " + MADE_UP + "; 'jnvdocker"),
                refused::toString);
        assertEquals(0, lab.volumes().size());
    }

    @Test
    void recabledGpuIsNotTakenForAnother() {
        lab.create("train", 0);
        lab.create("whole", 1);
        String zero = information(0);
        String one = information(1);
        try {
            lab.host().write(path(0), zero.replaceAll("(Device Minor:\\s*)0", "$11"));
            lab.host().write(path(1), one.replaceAll("(Device Minor:\\s*)1", "$10"));
            Command.Result refused = docker("start", "train");
            assertEquals(1, refused.exitCode(), refused::toString);
            Lab.assertMatches(
                    "(?s).*GPU 0 \\(GPU-5c1a0000\\) has become /dev/nvidia1, and this container was"
                        + " given /dev/nvidia0, which is another GPU now; remove the container and"
                        + " run it again with --gpus device=GPU-5c1a0000\n"
                        + ".*",
                    refused.err());
            Command.of("rm", "-r", lab.host().directory().resolve(path(0)).getParent()).run().ok();
            Command.Result gone = docker("start", "train");
            assertEquals(1, gone.exitCode(), gone::toString);
            Lab.assertMatches(
                    "(?s).*GPU 0 \\(GPU-5c1a0000\\) is no longer on this host.*remove the"
                            + " container and run it again to get another GPU.*",
                    gone.err());
        } finally {
            lab.host().write(path(0), zero);
            lab.host().write(path(1), one);
        }
        docker("start", "train", "whole").ok();
        lab.awaitHolders(Map.of(0, "train", 1, "whole"));
    }

    private static String path(int gpu) {
        return "proc/driver/nvidia/gpus/0000:%02x:00.0/information".formatted(7 + 8 * gpu);
    }

    private static String information(int gpu) {
        return lab.host().read(path(gpu));
    }
}
