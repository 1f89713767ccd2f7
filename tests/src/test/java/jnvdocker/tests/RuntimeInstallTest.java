package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.PodEngine;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.RuntimeInstallation;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** What an administrator sees of {@code jnvdocker runtime}, with an engine that obeys it. */
@Tag("docker")
@Tag("root")
@Attack(
        by = "an administrator",
        what = "installs the runtime, with `hold_after_stop` and limits for all",
        result = "the trial has no limit, keeps no GPU and is not in the history")
@Attack(
        by = "a user",
        what =
                "has a container and an image named like those of the trial that ends `runtime"
                        + " install`",
        result = "they stay; only a trial's own are removed, also after a crash")
class RuntimeInstallTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String BEFORE = "{\n    \"debug\": false\n}\n";

    private static Lab lab;
    private RuntimeInstallation runtime;

    @BeforeAll
    static void open() {
        lab = new Lab(TestEngine.Release.wanted());
        lab.engine().image("cuda", "--small", "--env", "NVIDIA_VISIBLE_DEVICES=all");
    }

    @AfterAll
    static void close() {
        lab.close();
    }

    @BeforeEach
    void plan() throws IOException {
        runtime = RuntimeInstallation.planned(lab);
        lab.engine().path(runtime.hooks());
        Files.writeString(runtime.config(), BEFORE);
        lab.daemon().config("");
    }

    @AfterEach
    void nothingIsLeft() {
        lab.engine().removeContainers();
        if (lab.jnvdocker("runtime", "uninstall").ok().out().contains("stays")) {
            lab.engine().restart();
            lab.jnvdocker("runtime", "uninstall").ok();
        }
        runtime.close();
    }

    private static byte[] bytes(Path file) {
        try {
            return Files.readAllBytes(file);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static JsonNode status() throws IOException {
        return JSON.readTree(lab.jnvdocker("runtime", "status", "--json").out()).path(0);
    }

    /** No lease, no time of a user, and no GPU that is kept for anybody. */
    private static void assertTrialIsNobodys() {
        lab.awaitHolders(Map.of());
        String all = lab.jnvdocker("gpu", "leases", "--all").ok().out();
        assertFalse(all.contains("jnvdocker-check"), all);
        String history = lab.jnvdocker("gpu", "history").ok().out();
        assertFalse(history.contains("jnvdocker"), history);
        String shown = lab.jnvdocker("gpu", "ls").ok().out();
        assertFalse(shown.contains("kept for"), shown);
    }

    @Test
    void engineHasItFromAReloadOnAndTakesGpusFromARestartOn() throws Exception {
        restartEngineBeforeTheLink();
        lab.keepNothing();
        // No user may have a GPU, and what stops is kept: neither matters to a trial.
        lab.configure("hold_after_stop = '10m'\n[limits]\n'*' = { allowed = ['99'] }\n");
        Command.Result installed = runtime.install().ok();
        assertTrue(installed.out().contains("\nreloading docker (SIGHUP to pid "), installed.out());
        assertTrue(
                installed
                        .out()
                        .endsWith(
                                "\ndocker has the runtime 'nvidia' now\n"
                                        + "tried it: a container with the runtime 'nvidia' got a"
                                        + " GPU\n"),
                installed.out());
        assertEquals("", lab.docker("ps", "-aq").ok().out());
        assertEquals("", lab.docker("images", "-q", "jnvdocker-check").ok().out());
        assertEquals(
                "docker takes no --gpus until it is restarted: it started before "
                        + runtime.hooks().resolve("nvidia-container-runtime-hook")
                        + " was there",
                status().path("problem").asText());
        String doctor = lab.jnvdocker("gpu", "doctor").out();
        assertTrue(doctor.contains("docker takes no --gpus until it is restarted"), doctor);
        assertTrialIsNobodys();
        lab.configure("");
        Command.Result run = lab.docker("run", "--rm", "--gpus=1", "plain");
        assertTrue(run.err().contains("could not select device driver"), run::toString);
        lab.engine().restart();
        lab.jnvdocker("runtime", "status").ok();
        assertEquals(
                "nvidia1\nnvidia2\n",
                lab.docker(
                                "run",
                                "--rm",
                                "--gpus=\"device=1,2\"",
                                "plain",
                                "sh",
                                "-c",
                                "ls /dev | grep nvidia[0-9]")
                        .ok()
                        .out());
        // As a container that was made before: docker has written down which runtime it has.
        lab.docker("create", "--name=before", "--gpus=1", "--runtime=runc", "plain", "true").ok();
        assertMadeWithoutOurs(lab.docker("start", "before"));
    }

    /** The start of a process is known to a second; a link of the same second counts as found. */
    private void restartEngineBeforeTheLink() throws Exception {
        lab.engine().restart();
        Thread.sleep(1_100);
    }

    private static void assertMadeWithoutOurs(Command.Result run) {
        assertTrue(run.exitCode() != 0, run::toString);
        assertTrue(
                run.err()
                        .contains(
                                "jnvdocker: this container was made without jnvdocker's runtime, so"
                                        + " --gpus gives it none; make it again by the name that"
                                        + " 'jnvdocker runtime status' shows: docker run"),
                run::toString);
    }

    /** Whoever runs it again without the option has docker's default back. */
    @Test
    void nameAloneIsForContainersThatNameIt() throws Exception {
        runtime.install().ok();
        Path own = lab.daemon().state().resolveSibling("config.d/runtime.toml");
        assertTrue(Files.exists(own));
        runtime.install("--no-default").ok();
        assertTrue(
                JSON.readTree(runtime.config().toFile()).path("default-runtime").isMissingNode());
        lab.engine().restart();
        // Until then docker may have kept ours, with which it builds images.
        runtime.install("--no-default").ok();
        assertFalse(Files.exists(own));
        assertFalse(status().path("is_default").asBoolean());
        assertMadeWithoutOurs(lab.docker("run", "--rm", "--gpus=1", "plain", "true"));
        lab.docker("run", "--rm", "--gpus=1", "--runtime=nvidia", "plain", "true").ok();
        runtime.install().ok();
        lab.engine().restart();
        assertTrue(status().path("is_default").asBoolean());
        lab.docker("run", "--rm", "--gpus=1", "plain", "true").ok();
    }

    /** An administrator may have chosen another one for what needs no GPU. */
    @Test
    void anotherDefaultStays() throws Exception {
        Files.writeString(
                runtime.config(),
                "{\"runtimes\": {\"mine\": {\"path\": \"%s\"}}, \"default-runtime\": \"mine\"}"
                        .formatted(real()));
        lab.engine().restart();
        Command.Result installed = runtime.install().ok();
        assertTrue(
                installed
                        .err()
                        .contains(
                                "jnvdocker: docker's default runtime stays 'mine' ("
                                        + runtime.config()
                                        + ", or a flag of dockerd); containers get GPUs with"
                                        + " --runtime nvidia"),
                installed::toString);
        lab.engine().restart();
        assertFalse(status().path("is_default").asBoolean());
        lab.docker("run", "--rm", "--gpus=1", "--runtime=nvidia", "plain", "true").ok();
        lab.docker("run", "--rm", "plain", "true").ok();
        lab.jnvdocker("runtime", "uninstall").ok();
        assertEquals(
                "mine", JSON.readTree(runtime.config().toFile()).path("default-runtime").asText());
        Files.writeString(runtime.config(), BEFORE);
        lab.engine().restart();
    }

    /** The runtime stays installed, and the line says whose the GPUs are. */
    @Test
    void trialWithoutAFreeGpuSaysWhy() throws Exception {
        restartEngineBeforeTheLink();
        lab.jnvdocker("run", "-d", "--name=all", "--gpus=all", "plain", "sleep", "1000").ok();
        Command.Result installed = runtime.install().ok();
        String last = installed.out().lines().toList().getLast();
        assertTrue(
                last.startsWith("tried it: a container with the runtime 'nvidia' got no GPU: "),
                installed::out);
        assertTrue(last.contains("container all"), last);
        assertTrue(status().path("problem").asText().startsWith("docker takes no --gpus until"));
        assertEquals("all\n", lab.docker("ps", "-a", "--format={{.Names}}").ok().out());
        assertEquals("", lab.docker("images", "-q", "jnvdocker-check").ok().out());
    }

    /** A user's own things may have such names; a daemon may be killed during a trial. */
    @Test
    void trialRemovesWhatTrialsHaveMadeAndNothingElse() {
        lab.engine().restart();
        lab.docker("tag", "plain", "jnvdocker-check:latest").ok();
        lab.docker("create", "--name=jnvdocker-check", "plain").ok();
        // Left by daemons that were killed before and after their containers were made.
        String change = "--change=LABEL jnvdocker.check=gone";
        for (String tag : List.of("killed", "early", "used")) {
            lab.docker("commit", change, "jnvdocker-check", "jnvdocker-check:" + tag).ok();
        }
        lab.docker("commit", change, "jnvdocker-check", "users:own").ok();
        lab.docker("create", "--name=jnvdocker-check-1", "plain").ok();
        String label = "--label=jnvdocker.check=gone";
        lab.docker("run", "-d", label, "--name=jnvdocker-check-2", "plain", "sleep", "99").ok();
        lab.docker("run", label, "--name=jnvdocker-check-3", "jnvdocker-check:killed", "true").ok();
        // An image that another user's container uses.
        lab.docker("create", "--name=user", "jnvdocker-check:used", "true").ok();
        lab.docker("run", label, "--name=jnvdocker-check-4", "jnvdocker-check:used", "true").ok();
        assertTrue(runtime.install().ok().out().contains(" got a GPU\n"));
        assertEquals(
                "jnvdocker-check\njnvdocker-check-1\njnvdocker-check-2\nuser\n",
                lab.docker("ps", "-a", "--format={{.Names}}")
                        .ok()
                        .out()
                        .lines()
                        .sorted()
                        .collect(Collectors.joining("\n", "", "\n")));
        String tags = lab.docker("images", "--format={{.Tag}}", "jnvdocker-check").ok().out();
        assertEquals(List.of("latest", "used"), tags.lines().sorted().toList());
        lab.engine().removeContainers();
        lab.docker("rmi", "jnvdocker-check:latest", "jnvdocker-check:used", "users:own").ok();
    }

    @Test
    void defaultGivesGpusToWhoeverAsksAndToNoImage() throws Exception {
        Command.Result installed = runtime.install("--default", "--swarm").ok();
        JsonNode config = JSON.readTree(runtime.config().toFile());
        assertEquals("nvidia", config.path("default-runtime").asText());
        assertEquals("[\"NVIDIA-GPU=4\"]", config.path("node-generic-resources").toString());
        assertFalse(installed.out().contains("restart jnvdocker"), installed.out());
        lab.engine().restart();
        String file = Files.readString(runtime.config());
        assertFalse(lab.jnvdocker("gpu", "doctor").out().contains("GPUs to Swarm"));
        Files.writeString(runtime.config(), file.replace("NVIDIA-GPU=4", "NVIDIA-GPU=5"));
        String doctor = lab.jnvdocker("gpu", "doctor").out();
        assertTrue(doctor.contains(" reports 5 GPUs to Swarm, and this host has 4"), doctor);
        Files.writeString(runtime.config(), file);
        // An administrator copies an example over the configuration.
        lab.configure("default_gpus = 1\n[runtime]\nall_means = 1\n");
        assertTrue(status().path("is_default").asBoolean());
        lab.docker("run", "-d", "--name=two", "--gpus=2", "plain", "sleep", "1000").ok();
        assertEquals(
                "", lab.docker("run", "--rm", "cuda", "sh", "-c", "ls /dev | grep nvidia").out());
        lab.jnvdocker("run", "-d", "--name=one", "--gpus=1", "plain", "sleep", "1000").ok();
        Lab.await(() ->
                lab.registry().holders().size() == 3
                        ? List.of()
                        : List.of(lab.registry().holders().toString()));
        String nodes = lab.docker("exec", "one", "sh", "-c", "ls /dev | grep -c nvidia").out();
        assertEquals("4", nodes.strip());
        assertEquals(2, lab.registry().live().size());
        Command.Result third = lab.docker("run", "--rm", "--gpus=2", "plain", "true");
        assertEquals(125, third.exitCode(), third::toString);
        assertTrue(third.err().contains("held by somebody's container two"), third::toString);
    }

    /** Swarm counts the GPUs, and each replica gets two that are free. */
    @Test
    void replicasOfAServiceHaveGpusOfTheirOwn() {
        runtime.install("--default", "--swarm").ok();
        lab.engine().restart();
        lab.docker("swarm", "init", "--advertise-addr", "127.0.0.1").ok();
        try {
            lab.docker(
                            "service",
                            "create",
                            "-d",
                            "--name=train",
                            "--replicas=2",
                            "--generic-resource=NVIDIA-GPU=2",
                            "--network=host",
                            "--stop-signal=KILL",
                            "plain",
                            "sleep",
                            "1000")
                    .ok();
            Lab.await(() -> {
                Map<Integer, String> holders = lab.registry().holders();
                return holders.size() == 4
                                && holders.values().stream().distinct().count() == 2
                                && holders.values().stream()
                                        .allMatch(name -> name.startsWith("train."))
                        ? List.of()
                        : List.of(holders.toString());
            });
        } finally {
            lab.docker("service", "rm", "train");
            lab.docker("swarm", "leave", "--force").ok();
        }
        Lab.await(() ->
                lab.registry().holders().isEmpty()
                        ? List.of()
                        : List.of(lab.registry().holders().toString()));
    }

    /** Containers that were made with our runtime, and have no GPU, need nothing of ours. */
    @Test
    void uninstallLeavesTheProgramUntilNothingNeedsIt() throws Exception {
        runtime.install("--swarm").ok();
        lab.engine().restart("--live-restore");
        lab.docker("create", "--name=old", "plain", "true").ok();
        lab.docker("run", "-d", "--name=runs", "--restart=always", "plain", "sleep", "1000").ok();
        lab.docker("create", "--name=asks", "--gpus=1", "plain", "true").ok();
        lab.docker("create", "--name=says", "--label=jnvdocker.gpus=1", "plain", "true").ok();
        lab.jnvdocker("create", "--name=client", "--gpus=1", "plain", "true").ok();
        Command.Result first = lab.jnvdocker("gpu", "uninstall");
        assertTrue(
                first.err().matches("(?s).*containers need jnvdocker: (asks|says|client), .*"),
                first::toString);
        String lost = lab.jnvdocker("runtime", "uninstall", "--dry-run").ok().out();
        assertTrue(lost.contains("these containers request GPUs, which they get no more: "), lost);
        lab.docker("rm", "asks", "says", "client").ok();
        first = lab.jnvdocker("gpu", "uninstall");
        assertEquals(125, first.exitCode(), first::toString);
        assertTrue(
                first.err()
                        .endsWith(
                                " do this first:\n  "
                                        + runtime.program()
                                        + " has to stay: the engine has it until it is restarted:\n"
                                        + "    jnvdocker runtime uninstall && systemctl restart"
                                        + " docker\n"),
                first::toString);
        String left =
                "the runtime 'nvidia' in "
                        + runtime.config()
                        + " as "
                        + real()
                        + ", for containers that were made with it\n";
        first = lab.jnvdocker("runtime", "uninstall", "--dry-run").ok();
        assertTrue(first.out().startsWith("would leave " + left), first::toString);
        first = lab.jnvdocker("runtime", "uninstall").ok();
        assertTrue(first.out().startsWith("left " + left), first::toString);
        JsonNode config = JSON.readTree(runtime.config().toFile());
        assertEquals(real(), config.path("runtimes").path("nvidia").path("path").asText());
        assertEquals(2, config.size(), config::toString);
        Path own = lab.daemon().state().resolveSibling("config.d/runtime.toml");
        assertTrue(Files.exists(own));
        assertTrue(
                first.out()
                        .contains(
                                "the engine has it until it is restarted; when convenient:"
                                        + " systemctl restart docker, then 'jnvdocker runtime"
                                        + " uninstall' again\n"),
                first::toString);
        assertTrue(Files.exists(runtime.program()));
        // It runs on with our program.
        lab.engine().restart();
        first = lab.jnvdocker("runtime", "uninstall").ok();
        assertTrue(
                first.out()
                        .contains(
                                "stays: these containers run with it, or may: runs; when"
                                    + " convenient: docker stop runs && jnvdocker runtime uninstall"
                                    + " && docker start runs\n"),
                first::toString);
        lab.docker("stop", "-t0", "runs").ok();
        lab.docker("start", "runs").ok();
        lab.docker("start", "-a", "old").ok();
        // These containers need the name as before.
        first = lab.jnvdocker("runtime", "uninstall").ok();
        assertTrue(first.out().startsWith("left " + left), first::toString);
        assertFalse(Files.exists(own));
        assertFalse(Files.exists(runtime.program()));
        assertFalse(Files.exists(runtime.hooks().resolve("nvidia-container-runtime-hook")));
        assertEquals(
                "the OCI runtime is not installed for any engine: jnvdocker runtime install\n",
                lab.jnvdocker("runtime", "status").ok().out());
        lab.docker("stop", "-t0", "runs").ok();
        lab.engine().restart(new String[0]);
        lab.docker("start", "runs").ok();
        // It takes the name again, and gives it back.
        runtime.install().ok();
        lab.engine().removeContainers();
        lab.jnvdocker("runtime", "uninstall").ok();
        assertEquals(BEFORE.replace(" ", ""), Files.readString(runtime.config()).replace(" ", ""));
    }

    private static String real() {
        return Command.of("sh", "-c", "command -v runc").run().ok().out().strip();
    }

    /** The file of another version, with its settings, is what an upgrade leaves. */
    @Test
    void daemonReplacesTheProgramOfAnotherVersion() throws Exception {
        runtime.install().ok();
        byte[] current = bytes(runtime.program());
        Files.write(runtime.program(), Arrays.copyOf(current, current.length + 1));
        Object older = Files.getAttribute(runtime.program(), "unix:ino");
        lab.daemon().stop();
        lab.startDaemon();
        Lab.await(() -> {
            byte[] now = bytes(runtime.program());
            return Arrays.equals(current, now) ? List.of() : List.of(now.length + " bytes");
        });
        assertEquals(
                "rwxr-xr-x",
                PosixFilePermissions.toString(Files.getPosixFilePermissions(runtime.program())));
        // A process that runs the older one goes on with it.
        assertNotEquals(older, Files.getAttribute(runtime.program(), "unix:ino"));
    }

    /** A file of the release's own defaults, of either format. */
    @ParameterizedTest
    @EnumSource(value = PodEngine.Kind.class, names = "CRIO", mode = EnumSource.Mode.EXCLUDE)
    void containerdHasOurHandlerBesideItsOwn(PodEngine.Kind kind) throws Exception {
        Path directory = Files.createDirectories(runtime.hooks().resolveSibling("defaults" + kind));
        Path config = directory.resolve("config.toml");
        Path ours = directory.resolve("conf.d/jnvdocker.toml");
        try (PodEngine engine = new PodEngine(kind)) {
            String defaults = engine.program("containerd", "config", "default").run().ok().out();
            String before = defaults.replace("imports = []", "imports = [\"conf.d/*.toml\"]");
            Files.writeString(config, before);
            Object[] install = {
                "runtime",
                "install",
                "--engine=containerd",
                "--config",
                config,
                "--runtime-dir",
                directory.resolve("runtime")
            };
            String installed = lab.jnvdocker(install).ok().out();
            assertTrue(installed.contains("    systemctl restart containerd\n"), installed);
            assertEquals(before, Files.readString(config));
            assertEquals(kind == PodEngine.Kind.CONTAINERD_2, Files.exists(ours));
            if (kind == PodEngine.Kind.CONTAINERD_1) {
                assertFalse(status().path("works").asBoolean());
                PodEngine.addTo(config, installed);
            }
            assertTrue(status().path("works").asBoolean());
            String dump =
                    engine.program("containerd", "--config", config, "config", "dump")
                            .run()
                            .ok()
                            .out();
            assertTrue(dump.contains(".containerd.runtimes.runc]\n"), dump);
            assertTrue(
                    dump.contains(
                            directory.resolve("runtime/nvidia-container-runtime").toString()));
            String removed = lab.jnvdocker("runtime", "uninstall").ok().out();
            assertFalse(Files.exists(ours));
            assertEquals(
                    kind == PodEngine.Kind.CONTAINERD_1,
                    removed.contains("left the runtime 'nvidia' in " + config),
                    removed);
        }
        Directories.remove(directory);
    }

    /** With both of a kind, dockerd would not start again. */
    @Test
    void configurationThatTheRunningEngineRefusesIsNotWritten() throws Exception {
        lab.engine().restart("--default-runtime=runc");
        try {
            Command.Result refused = runtime.install("--default");
            assertEquals(125, refused.exitCode(), refused::toString);
            assertTrue(
                    refused.err().contains("was started with --default-runtime, and does not"),
                    refused::toString);
            Command.Result named = runtime.install().ok();
            assertTrue(named.err().contains("default runtime stays 'runc'"), named::toString);
        } finally {
            lab.engine().restart(new String[0]);
        }
        lab.jnvdocker("runtime", "uninstall");
        String wrong = "{\"debug\": false, \"no-such-key\": 1}";
        Files.writeString(runtime.config(), wrong);
        Command.Result refused = runtime.install();
        if (TestEngine.Release.wanted() == TestEngine.Release.NEWEST) {
            assertTrue(refused.err().contains("dockerd does not accept"), refused::toString);
            assertTrue(refused.err().contains("no-such-key"), refused::toString);
            assertEquals(wrong, Files.readString(runtime.config()));
        }
        Files.writeString(runtime.config(), BEFORE);
    }

    @Test
    void dryRunChangesNothing() throws Exception {
        Command.Result dry = runtime.install("--swarm", "--dry-run").ok();
        assertTrue(dry.out().contains("\n        \"default-runtime\": \"nvidia\","), dry.out());
        assertEquals(BEFORE, Files.readString(runtime.config()));
        assertFalse(Files.exists(runtime.program()));
        assertFalse(Files.exists(runtime.hooks()));
        assertFalse(Files.exists(lab.daemon().state().resolve("runtimes.json")));
    }

    @Test
    void whatCantBeLaidOutIsRefusedAndNothingChanged() throws Exception {
        Path open = Files.createDirectories(runtime.hooks().resolveSibling("open"));
        Command.of("chmod", "777", open).run().ok();
        Path copy = Files.createDirectories(runtime.hooks().resolveSibling("copy")).resolve("runc");
        Files.copy(Project.tree().resolve("lib/oci/nvidia-container-runtime"), copy);
        Map<List<Object>, String> wrongs =
                Map.of(
                        List.of("--real", copy), "would run itself; name runc or crun with --real",
                        List.of("--real", "/nowhere"), "there is no program /nowhere; name runc",
                        List.of("--name", "runc"), "cannot be the name of a runtime",
                        List.of("--engine", "lxc"), "unknown engine 'lxc'; choose docker,");
        for (Map.Entry<List<Object>, String> wrong : wrongs.entrySet()) {
            Command.Result result = runtime.install(wrong.getKey().toArray());
            assertTrue(result.exitCode() != 0, result::toString);
            assertTrue(result.err().contains(wrong.getValue()), result::toString);
        }
        Command.Result anybodys =
                lab.jnvdocker(
                        "runtime", "install", "--config", runtime.config(), "--runtime-dir", open);
        assertTrue(
                anybodys.err().contains("users other than root can write to " + open),
                anybodys::toString);
        Files.writeString(
                runtime.config(),
                "{\"runtimes\": {\"nvidia\": {\"path\": \"/usr/bin/nvidia-container-runtime\"}}}");
        Command.Result taken = runtime.install();
        assertTrue(
                taken.err()
                        .contains(
                                "is '/usr/bin/nvidia-container-runtime', which is not jnvdocker's;"
                                        + " remove it there, or choose another name with --name"),
                taken::toString);
        assertFalse(Files.exists(runtime.program()));
        Command.Result other =
                lab.daemon()
                        .jnvdocker("runtime", "install")
                        .after("setpriv", "--reuid=65534")
                        .run();
        assertEquals(125, other.exitCode(), other::toString);
        assertFalse(Files.exists(Path.of("/usr/libexec/jnvdocker-runtime")));
    }
}
