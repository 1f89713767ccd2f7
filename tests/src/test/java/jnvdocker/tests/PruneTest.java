package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/** {@code jnvdocker gpu prune}: files that are no longer needed are removed, and no others. */
class PruneTest extends OneEngineTest {
    private static final String REAL = "535.261.03";
    private static final String OLDER = "525.60.13";
    private static final String NEWER = "550.1.1";

    @AfterEach
    void loadTheRealDriver() {
        load(REAL);
        lab.startDaemon();
        lab.clear();
        lab.jnvdocker("gpu", "prune").ok();
    }

    private static void load(String driver) {
        lab.host().version(driver);
        if (!driver.equals(REAL)) {
            lab.host().libcuda();
        }
        lab.jnvdocker("gpu", "volume").ok();
    }

    private static String driverVolume(String driver) {
        return "nvidia_driver_" + driver;
    }

    private static Path directory(String driver) {
        return lab.daemon().state().resolve("volumes/nvidia_driver").resolve(driver);
    }

    private static Path claimDirectory(String claim) {
        return lab.daemon().state().resolve("claims").resolve(claim);
    }

    private static String claim() {
        assertEquals(1, lab.registry().claims().size());
        return lab.registry().claims().iterator().next();
    }

    private static JsonNode prune(Object... options) {
        List<Object> words = new ArrayList<>(List.of("gpu", "prune", "--json"));
        words.addAll(Arrays.asList(options));
        String text = lab.jnvdocker(words.toArray()).ok().out();
        try {
            return new ObjectMapper().readTree(text);
        } catch (JsonProcessingException e) {
            throw new AssertionError(text, e);
        }
    }

    /** The fate of each volume: {@code removed}, {@code would_go}, or why it is kept. */
    private static Map<String, String> fates(JsonNode pruned) {
        Map<String, String> fates = new TreeMap<>();
        for (JsonNode volume : pruned.path("volumes")) {
            String action = volume.path("action").asText();
            String fate = action.equals("kept") ? volume.path("why").asText() : action;
            fates.put(volume.path("volume").asText(), fate);
        }
        return fates;
    }

    private static List<String> driverDirectories() throws IOException {
        try (var entries = Files.list(directory(REAL).getParent())) {
            return entries.map(entry -> entry.getFileName().toString())
                    .filter(name -> !name.startsWith("."))
                    .sorted()
                    .toList();
        }
    }

    @Test
    void ofDriversTheLoadedOneStaysAndWhatAContainerNames() throws IOException {
        lab.create("train-7", 0);
        lab.docker("create", "--name", "old", "-v", driverVolume(REAL) + ":/x", "plain").ok();
        load(NEWER);
        load(OLDER);
        assertEquals(List.of(OLDER, REAL, NEWER), driverDirectories());
        String claim = "jnvdocker_claim_" + lab.registry().key(claim());
        Map<String, String> kept =
                Map.of(
                        driverVolume(OLDER),
                        "its driver is loaded",
                        driverVolume(REAL),
                        "containers old, train-7 name it",
                        claim,
                        "container train-7 names it");
        Map<String, String> dry = fates(prune("--dry-run"));
        assertEquals("would_go", dry.remove(driverVolume(NEWER)));
        assertEquals(kept, dry);
        assertEquals(List.of(OLDER, REAL, NEWER), driverDirectories());

        JsonNode pruned = prune();
        Map<String, String> fates = fates(pruned);
        assertEquals("removed", fates.remove(driverVolume(NEWER)));
        assertEquals(kept, fates);
        assertEquals(List.of(OLDER, REAL), driverDirectories());

        lab.docker("rm", "train-7", "old").ok();
        String text = lab.jnvdocker("gpu", "prune").ok().out();
        assertTrue(
                text.contains("driver " + OLDER + " is loaded, and no container names it"),
                text::toString);
        assertEquals(List.of(OLDER), driverDirectories());
        assertEquals(
                List.of(driverVolume(OLDER)),
                lab.docker("volume", "ls", "-q").ok().out().lines().toList());
    }

    /**
     * The volume consists of hard links to files that the host still has; only its manifest takes
     * room.
     */
    @Test
    void whatIsTheHostsAsWellFreesNothing() throws IOException {
        long manifest = Files.size(directory(REAL).resolve("manifest.json"));
        load(NEWER);
        JsonNode pruned = prune();
        assertEquals(manifest, pruned.path("freed_bytes").asLong(), pruned::toString);
        assertTrue(
                pruned.path("volumes")
                        .path(0)
                        .path("why")
                        .asText()
                        .endsWith("; hard links free" + " nothing"),
                pruned::toString);
        assertFalse(Files.exists(directory(REAL)));
        assertEquals(
                List.of(),
                Directories.mountedBelow(lab.daemon().socket().getParent()).stream()
                        .filter(point -> !point.endsWith("/" + NEWER))
                        .toList());
        assertFalse(pruned.path("dry_run").asBoolean());
    }

    /** A container that names another driver's volume was served this driver's files. */
    @Test
    void whatRunsKeepsTheFilesThatItWasServed() throws IOException {
        lab.docker(
                        "run",
                        "-d",
                        "--name",
                        "served",
                        "--mount",
                        "type=volume,src="
                                + driverVolume(OLDER)
                                + ",dst=/x,volume-driver=nvidia-docker",
                        "plain",
                        "sleep",
                        "1000")
                .ok();
        String pid = lab.inspect("served", "{{.State.Pid}}");
        lab.daemon().stop();
        load(NEWER);
        assertEquals(
                "a process (pid " + pid + ") has it mounted",
                fates(prune()).get(driverVolume(REAL)));
        lab.docker("exec", "served", "ls", "/x/lib64/libcuda.so.1").ok();
        lab.docker("rm", "-f", "served").ok();
        assertEquals("removed", fates(prune()).get(driverVolume(REAL)));
    }

    @Test
    void aDirectoryThatIsNoWholeVolumeGoesToo() throws IOException {
        Files.createDirectories(directory(NEWER).resolve("lib64"));
        Files.writeString(directory(NEWER).resolve("lib64/half"), "12345");
        JsonNode pruned = prune();
        assertEquals("removed", fates(pruned).get(driverVolume(NEWER)));
        assertEquals(5, pruned.path("freed_bytes").asInt());
        assertFalse(Files.exists(directory(NEWER)));
    }

    @Test
    void withoutADriverAllOfTheirVolumesStay() throws IOException {
        load(NEWER);
        lab.host().unload();
        try {
            String why = "no driver is loaded, and the next may be this one";
            assertEquals(Map.of(driverVolume(REAL), why, driverVolume(NEWER), why), fates(prune()));
        } finally {
            lab.host().load();
        }
    }

    @Test
    void claimsThatAreHeldStay() throws Exception {
        lab.run("train-7", 0);
        Path docker = lab.daemon().socket().resolveSibling("docker-that-sleeps");
        Files.writeString(docker, "#!/bin/sh\nexec sleep 1000\n");
        Command.of("chmod", "755", docker).run().ok();
        Process client =
                lab.daemon()
                        .jnvdocker("run", "--gpus", "device=1", "plain", "true")
                        .with("NV_DOCKER", docker)
                        .start();
        try {
            Lab.await(() -> lab.registry().claims().size() == 2 ? List.of() : List.of("one claim"));
            List<String> why =
                    fates(prune()).entrySet().stream()
                            .filter(fate -> fate.getKey().startsWith("jnvdocker_claim_"))
                            .map(Map.Entry::getValue)
                            .sorted()
                            .toList();
            assertEquals(2, why.size());
            assertEquals("container train-7 names it", why.get(0));
            assertTrue(
                    why.get(1)
                            .matches(
                                    "it is reserved by \\S+'s docker run \\(pid "
                                            + client.pid()
                                            + "\\) since \\d\\d:\\d\\d"),
                    why::toString);
            lab.awaitHolders(Map.of(0, "train-7", 1, "reservation"));
        } finally {
            client.destroyForcibly().waitFor();
            Files.delete(docker);
        }
    }

    @Test
    void aDirectoryOfNoClaimGoes() throws IOException {
        Path directory = Files.createDirectories(claimDirectory("abcdefabcdef").resolve("mount"));
        Files.writeString(directory.resolve("left"), "12345");
        JsonNode dry = prune("--dry-run");
        assertEquals("would_go", fates(dry).get("jnvdocker_claim_abcdefabcdef"));
        assertEquals(5, dry.path("freed_bytes").asInt());
        assertTrue(Files.exists(directory));
        assertEquals("removed", fates(prune()).get("jnvdocker_claim_abcdefabcdef"));
        assertFalse(Files.exists(claimDirectory("abcdefabcdef")));
    }

    /** The daemon was pointed to another engine, or that engine was replaced. */
    @Test
    void claimsOfAnotherEngineGoOnRequest() {
        lab.create("train-7", 0);
        String claim = claim();
        lab.daemon().stop();
        lab.registry().change("UPDATE claim SET engine = 'ABCD:EFGH'");
        lab.docker("rm", "train-7").ok();
        lab.startDaemon();
        String volume = "jnvdocker_claim_" + lab.registry().key(claim);
        assertEquals(
                "the engine ABCD:EFGH, which is not the daemon's, may have its container; if that"
                        + " engine is gone for good: --other-engines",
                fates(prune()).get(volume));
        assertTrue(Files.exists(claimDirectory(claim)));
        assertEquals("removed", fates(prune("--other-engines")).get(volume));
        lab.awaitTruth();
        assertFalse(Files.exists(claimDirectory(claim)));
    }

    @Test
    void withoutAnEngineNothingIsRemoved() throws IOException {
        load(NEWER);
        lab.engine().stop();
        try {
            Command.Result result = lab.jnvdocker("gpu", "prune");
            assertEquals(125, result.exitCode(), result::toString);
            assertTrue(
                    result.err()
                            .startsWith(
                                    "jnvdocker: the Docker engine at "
                                            + lab.engine().socket()
                                            + " does not answer"),
                    result::toString);
            assertEquals("", result.out());
            assertEquals(List.of(REAL, NEWER), driverDirectories());
        } finally {
            lab.engine().start();
        }
    }

    @Test
    void pruneTakesNoWords() {
        assertEquals(2, lab.jnvdocker("gpu", "prune", "all").exitCode());
    }

    /** A container that is created during a prune can be started, or was refused immediately. */
    @Test
    void whatIsCreatedMeanwhileStarts() throws Exception {
        load(NEWER);
        AtomicBoolean ended = new AtomicBoolean();
        var made = new ConcurrentLinkedQueue<String>();
        String old =
                "type=volume,src=" + driverVolume(REAL) + ",dst=/x,volume-driver=nvidia-docker";
        List<Thread> users =
                List.of(
                        creating(ended, made, () -> lab.docker("create", "--mount", old, "plain")),
                        creating(
                                ended,
                                made,
                                () -> lab.jnvdocker("create", "--gpus", "1", "plain", "true")));
        try {
            for (int i = 0; i < 8; i++) {
                load(REAL);
                load(NEWER);
                prune();
            }
        } finally {
            ended.set(true);
            for (Thread user : users) {
                user.join();
            }
        }
        assertTrue(made.size() > 2, made::toString);
        for (String container : made) {
            Command.Result started = lab.docker("start", container);
            assertEquals(0, started.exitCode(), started::toString);
            lab.docker("wait", container).ok();
            lab.awaitHolders(Map.of());
        }
    }

    private static Thread creating(
            AtomicBoolean ended,
            ConcurrentLinkedQueue<String> made,
            Supplier<Command.Result> create) {
        return Thread.startVirtualThread(() -> {
            while (!ended.get() && made.size() < 40) {
                Command.Result result = create.get();
                if (result.exitCode() == 0) {
                    made.add(result.out().strip());
                }
            }
        });
    }
}
