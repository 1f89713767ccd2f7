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
import jnvdocker.tests.world.Project;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.StreamSupport;

/** Each kind of fault is found with its remedy, and is gone once it is fixed. */
class DoctorTest extends WantedEngineTest {
    private static final String LIBRARIES = "usr/lib/x86_64-linux-gnu/";

    private static Command.Result doctor() {
        return lab.jnvdocker("gpu", "doctor");
    }

    private static JsonNode json() {
        return report(lab.jnvdocker("gpu", "doctor", "--json"));
    }

    /** Parses a report, whatever the exit code. */
    static JsonNode report(Command.Result doctor) {
        try {
            return new ObjectMapper().readTree(doctor.out());
        } catch (JsonProcessingException e) {
            throw new AssertionError(doctor.toString(), e);
        }
    }

    private static Path host(String file) {
        return lab.host().directory().resolve(file);
    }

    private static Path volume() {
        return lab.daemon().state().resolve("volumes/nvidia_driver/" + lab.host().version());
    }

    private static void shell(String script) {
        Command.of("sh", "-ec", script).run().ok();
    }

    /** The findings of a check other than that all is well: {@code wrong: what; remedy}. */
    private static List<String> found(String check) {
        return findings(json(), check).stream().filter(text -> !text.startsWith("ok: ")).toList();
    }

    /** A report's findings of a check: {@code wrong: what; remedy}. */
    static List<String> findings(JsonNode report, String check) {
        return StreamSupport.stream(report.path("checks").spliterator(), false)
                .filter(finding -> finding.path("check").asText().equals(check))
                .map(finding ->
                        finding.path("state").asText()
                                + ": "
                                + finding.path("what").asText()
                                + (finding.path("remedy").isNull()
                                        ? ""
                                        : "; " + finding.path("remedy").asText()))
                .toList();
    }

    /** Asserts that these are the only faults, and the only findings of that check. */
    private static void assertWrong(String check, String... findings) {
        assertEquals(Arrays.stream(findings).map("wrong: "::concat).toList(), found(check));
        Command.Result result = doctor();
        assertEquals(1, result.exitCode(), result::toString);
        assertEquals("", result.err());
        for (String finding : findings) {
            Lab.assertMatches(
                    "(?s).*\n" + check + " +wrong +\\Q" + finding + "\\E\n.*", result.out());
        }
        assertTrue(result.out().contains("\n" + findings.length + " wrong"), result::toString);
    }

    private static void assertHint(String check, String finding) {
        assertEquals(List.of("hint: " + finding), found(check));
        Command.Result result = doctor().ok();
        assertTrue(result.out().contains("\nnothing is wrong, 1 hint"), result::toString);
    }

    private static void assertWell() {
        Command.Result result = doctor();
        assertEquals(0, result.exitCode(), result::toString);
        assertFalse(result.out().contains("hint"), result::toString);
    }

    private static String restart() {
        Path pid = lab.daemon().socket().resolveSibling("jnvdockerd.pid");
        return "restart jnvdocker: kill $(cat "
                + pid
                + "), and root's next jnvdocker gpu ls starts it";
    }

    @Test
    void healthyHostIsShownWithAllThatWasChecked() {
        lab.run("train", 0);
        List<String> lines = doctor().ok().out().lines().toList();
        Lab.assertMatches("CHECK +STATE +WHAT", lines.getFirst());
        String persistence = lines.get(4).split(" +")[1];
        assertEquals(
                List.of(
                        "driver ok",
                        "gpus ok",
                        "nodes ok",
                        "persistence " + persistence,
                        "engine ok",
                        "plugin ok",
                        "units ok",
                        "leftovers ok",
                        "others ok",
                        "files ok",
                        "runtime ok",
                        "runtime ok",
                        "proxy ok",
                        "sharing ok",
                        "cordon ok",
                        "limits ok",
                        "claims ok",
                        "state ok",
                        "volume ok",
                        "registry ok",
                        "version ok"),
                lines.subList(1, lines.size() - 1).stream()
                        .map(line -> String.join(" ", List.of(line.split(" +")).subList(0, 2)))
                        .toList());
        Lab.assertMatches("nothing is wrong(, 1 unknown)?", lines.getLast());
        assertTrue(lines.get(1).contains("driver " + lab.host().version() + " is loaded, "));
        assertTrue(lines.get(2).endsWith("4 GPUs: 3 free, 1 held"), lines.get(2));
        assertTrue(lines.get(5).contains("Docker " + lab.engine().version() + " "), lines.get(5));
    }

    @Test
    void jsonHasTheCountsAndANullWhereThereIsNothingToDo() {
        JsonNode root = json();
        assertEquals(0, root.path("wrong").asInt(-1));
        assertEquals(0, root.path("hints").asInt(-1));
        assertEquals(20, root.path("checks").size());
        JsonNode driver = root.path("checks").path(0);
        assertEquals("driver", driver.path("check").asText());
        assertEquals("ok", driver.path("state").asText());
        assertTrue(driver.path("remedy").isNull(), driver::toString);
    }

    @Test
    void wrongUsageIsNoDiagnosis() {
        assertEquals(2, lab.jnvdocker("gpu", "doctor", "--all").exitCode());
    }

    @Test
    void librariesOfAnotherDriverThanTheModule() {
        String ours = LIBRARIES + "libcuda.so." + lab.host().version();
        String other = LIBRARIES + "libcuda.so.550.163.01";
        String upgrade = "for file in usr/bin/nvidia-*; do mv $file $file.kept; echo > $file; done";
        shell(
                "cd " + host("") + "; cp " + ours + " " + other + "; mv " + ours + " kept;"
                        + upgrade);
        try {
            assertWrong(
                    "driver",
                    "the kernel module that is loaded is of driver "
                            + lab.host().version()
                            + ", but this host's libraries are of another: /"
                            + other
                            + "; reboot this host to complete the driver's upgrade");
            assertEquals(1, doctor().out().split("wrong ", -1).length - 1);
            lab.jnvdocker("gpu", "volume", "--verify").ok();
            Command.Result refused = lab.jnvdocker("gpu", "volume", "--remake");
            assertEquals(125, refused.exitCode(), refused::toString);
            assertTrue(refused.err().contains("; reboot this host"), refused::toString);
            lab.run("after-upgrade", 0);
        } finally {
            shell(
                    "cd "
                            + host("")
                            + "; rm "
                            + other
                            + "; mv kept "
                            + ours
                            + "; for file in usr/bin/*.kept; do mv $file ${file%.kept}; done");
        }
        lab.docker("rm", "-f", "after-upgrade").ok();
        assertWell();
    }

    @Test
    void driverThatIsNotLoaded() {
        shell("cd " + host("") + "; mv proc/driver/nvidia away; mv sys/module/nvidia gone");
        try {
            Command.Result result = doctor();
            assertEquals(1, result.exitCode(), result::toString);
            Lab.assertMatches(
                    "(?s).*\ndriver +wrong +no NVIDIA driver is loaded: .*; install the driver, or"
                            + " load it with 'modprobe nvidia'\ngpus +unknown .*\n1 wrong, .*",
                    result.out());
        } finally {
            shell("cd " + host("") + "; mv away proc/driver/nvidia; mv gone sys/module/nvidia");
        }
        assertWell();
    }

    @Test
    void gpuThatTheDriverCannotTalkTo() throws IOException {
        Path information = information(2);
        String before = Files.readString(information);
        Files.writeString(information, before.replaceFirst("GPU UUID:.*", "GPU UUID: ERR!"));
        try {
            assertWrong(
                    "gpus",
                    "GPU 2 at 0000:17:00.0 cannot be given out: the driver shows no UUID for it"
                            + " (found 'ERR!'); check the kernel log (dmesg | grep -i nvrm)");
        } finally {
            Files.writeString(information, before);
        }
        assertWell();
    }

    private static Path information(int gpu) throws IOException {
        try (var gpus = Files.list(host("proc/driver/nvidia/gpus"))) {
            return gpus.sorted().skip(gpu).findFirst().get().resolve("information");
        }
    }

    @Test
    void gpuThatIsHeldAndHasFallenOffTheBus() throws IOException {
        lab.run("train", 3);
        Path gpu = information(3).getParent();
        Files.move(gpu, host("away"));
        try {
            List<String> found = found("gpus");
            assertEquals(1, found.size(), found::toString);
            Lab.assertMatches(
                    "wrong: GPU 3 \\(GPU-5c1a3009\\) is held by root's container train"
                            + SINCE
                            + ", and the driver does not show it; search dmesg for Xid: .*",
                    found.getFirst());
            assertEquals(1, doctor().exitCode());
            Path vfio = Files.createDirectories(host("sys/bus/pci/drivers/vfio-pci"));
            String address = gpu.getFileName().toString();
            Path device = Files.createDirectories(host("sys/bus/pci/devices/" + address));
            Files.writeString(device.resolve("vendor"), "0x10de\n");
            Files.writeString(device.resolve("class"), "0x030200\n");
            Files.createSymbolicLink(vfio.resolve(address), device);
            try {
                Lab.assertMatches(
                        "wrong: GPU 3 .*, and the driver does not show it; "
                                + address
                                + " is bound to vfio-pci, as for a virtual machine; when no virtual"
                                + " machine uses it, give it back to the driver: driverctl"
                                + " unset-override "
                                + address,
                        found("gpus").getFirst());
            } finally {
                Files.delete(vfio.resolve(address));
            }
        } finally {
            Files.move(host("away"), gpu);
        }
        assertWell();
    }

    @Test
    void nodesThatAreMissingOrOfAnotherDevice() {
        String maker =
                ", as jnvdocker-nodes.service does at boot: "
                        + Project.tree().resolve("bin/jnvdockerd")
                        + " --make-nodes";
        shell("cd " + host("dev") + "; rm nvidia1 nvidia-uvm; mknod nvidia-uvm c 500 0");
        assertWrong(
                "nodes",
                host("dev/nvidia-uvm")
                        + " is not the character device 510:0 that the driver has now; rm "
                        + host("dev/nvidia-uvm")
                        + ", and make it again"
                        + maker,
                host("dev/nvidia1") + " is missing; make it" + maker);
        assertFalse(Files.exists(host("dev/nvidia1")), "doctor reads and makes nothing");
        shell("rm " + host("dev/nvidia-uvm"));
        lab.daemon().jnvdockerd("--make-nodes").run().ok();
        assertWell();
    }

    /** This machine may run such a daemon itself. */
    @Test
    void driverThatIsKeptAwake() throws IOException {
        Path directory = Directories.make("persistenced");
        Path daemon = directory.resolve("nvidia-persistenced");
        Files.copy(Path.of("/bin/sh"), daemon, StandardCopyOption.COPY_ATTRIBUTES);
        List<Process> started = new ArrayList<>();
        List<String> before = found("persistence");
        try {
            started.add(shell(daemon, "--no-persistence-mode"));
            Lab.await(() -> runs(started.getLast()) ? List.of() : List.of("does not run yet"));
            assertEquals(before, found("persistence"));
            started.add(shell(daemon, "--verbose"));
            Lab.await(() -> runs(started.getLast()) ? List.of() : List.of("does not run yet"));
            assertEquals(List.of(), found("persistence"));
        } finally {
            started.forEach(Process::destroyForcibly);
            Directories.remove(directory);
        }
    }

    private static Process shell(Path program, String option) {
        return Command.of(program, "-c", "read line", option).start();
    }

    private static boolean runs(Process process) {
        return process.info()
                .command()
                .filter(it -> it.endsWith("/nvidia-persistenced"))
                .isPresent();
    }

    @Test
    void engineThatIsStopped() {
        lab.engine().stop();
        try {
            assertWrong(
                    "engine",
                    "the Docker engine at "
                            + lab.engine().socket()
                            + " does not answer (No such file or directory); start it: systemctl"
                            + " start docker");
        } finally {
            lab.engine().start();
        }
        assertWell();
    }

    @Test
    void engineThatHangsIsNotWaitedForLong() throws InterruptedException {
        List<Long> engine = pids("dockerd");
        assertFalse(engine.isEmpty());
        engine.forEach(pid -> signal("STOP", pid));
        Process requested = lab.daemon().jnvdocker("gpu", "doctor").start();
        try {
            assertTrue(requested.waitFor(60, TimeUnit.SECONDS));
            assertEquals(1, requested.exitValue());
        } finally {
            engine.forEach(pid -> signal("CONT", pid));
        }
        assertWell();
    }

    private static List<Long> pids(String program) {
        return ProcessHandle.allProcesses()
                .filter(process ->
                        process.info()
                                .command()
                                .filter(it -> it.endsWith("/" + program))
                                .isPresent())
                .filter(process ->
                        Arrays.asList(process.info().arguments().orElse(new String[0]))
                                .contains("unix://" + lab.engine().socket()))
                .map(ProcessHandle::pid)
                .toList();
    }

    private static void signal(String name, long pid) {
        Command.of("kill", "-" + name, pid).run().ok();
    }

    @Test
    void engineThatGivesGpusToAnyImage() {
        String runc = Command.of("sh", "-c", "command -v runc").run().ok().out().strip();
        lab.engine().restart("--add-runtime", "nvidia=" + runc, "--default-runtime", "nvidia");
        try {
            assertWrong(
                    "engine",
                    "the engine's default runtime is nvidia, which gives GPUs to any image that"
                            + " requests them, bypassing jnvdocker; take \"default-runtime\" out of"
                            + " /etc/docker/daemon.json, and restart docker; or have jnvdocker's:"
                            + " 'jnvdocker runtime install --default'");
        } finally {
            lab.engine().restart(new String[0]);
        }
        assertWell();
    }

    @Test
    void pluginSocketThatWasDeletedUnderTheDaemon() throws IOException {
        Files.delete(lab.daemon().pluginSocket());
        try {
            assertWrong(
                    "plugin",
                    "the plugin's socket "
                            + lab.daemon().pluginSocket()
                            + " is gone; "
                            + restart());
        } finally {
            lab.daemon().stop();
            lab.startDaemon();
        }
        assertWell();
    }

    @Test
    void engineThatLooksForPluginsElsewhere() throws IOException {
        Path elsewhere = Directories.make("plugins");
        String before = lab.daemon().environment().get("JNVDOCKER_PLUGIN_DIR");
        lab.daemon().stop();
        lab.daemon().with("JNVDOCKER_PLUGIN_DIR", elsewhere).with("JNVDOCKER_PLUGIN_NAME", "other");
        lab.startDaemon();
        try {
            List<String> found = found("plugin");
            assertEquals(1, found.size(), found::toString);
            Lab.assertMatches(
                    "wrong: the engine does not get nvidia_driver_\\S+ from plugin other \\(.*\\);"
                            + " see that \\S+/other.sock is in its directory of plugins, and"
                            + " restart jnvdocker: .*",
                    found.getFirst());
        } finally {
            lab.daemon().stop();
            lab.daemon()
                    .with("JNVDOCKER_PLUGIN_DIR", before)
                    .with("JNVDOCKER_PLUGIN_NAME", "nvidia-docker");
            lab.startDaemon();
            Directories.remove(elsewhere);
        }
        // The engine retries for 15 s, and answers no other request about that volume meanwhile.
        Lab.await(() -> found("plugin"));
        assertWell();
    }

    @Test
    void whatNvidiaDockerHasLeft() {
        Path unit = host("lib/systemd/system/nvidia-docker.service");
        Path spec = host("etc/docker/plugins/nvidia-docker.spec");
        lab.host().write("lib/systemd/system/nvidia-docker.service", "");
        lab.host().write("etc/docker/plugins/nvidia-docker.spec", "unix:///elsewhere.sock\n");
        assertWrong(
                "leftovers",
                unit
                        + " is nvidia-docker 1.0's, whose plugin takes our plugin's name; systemctl"
                        + " disable --now nvidia-docker.service, and remove its package (apt-get"
                        + " purge nvidia-docker) or "
                        + unit,
                spec
                        + " gives Docker another address of plugin nvidia-docker than ours; rm "
                        + spec);
        shell("rm " + unit + " " + spec);
        Path volumes = host("var/lib/nvidia-docker/volumes");
        lab.host().write("var/lib/nvidia-docker/volumes/nvidia_driver/375.66/bin/nvidia-smi", "");
        assertHint(
                "leftovers",
                volumes
                        + " has volumes of nvidia-docker 1.0, which nobody serves; when no"
                        + " container that it started runs any more: rm -r "
                        + volumes);
        shell("rm -r " + volumes);
        assertWell();
    }

    /** Docker makes it for a user who mounts the driver's volume without naming the plugin. */
    @Test
    void volumeOfAnotherDriverIsNamedWithItsUsers() {
        String volume = "nvidia_driver_" + lab.host().version();
        lab.docker("volume", "rm", volume);
        lab.docker("volume", "create", volume).ok();
        lab.jnvdocker("gpu", "volume").ok();
        lab.docker("create", "--name=old", "--volume=" + volume + ":/x", "plain", "true").ok();
        String what =
                "wrong: the engine has a volume "
                        + volume
                        + " of the driver 'local', so that no container gets the one of"
                        + " nvidia-docker";
        String remove = "docker volume rm " + volume;
        assertEquals(
                List.of(
                        what
                                + "; it is used by old; remove these containers when they are not"
                                + " needed, then "
                                + remove),
                found("plugin"));
        lab.docker("rm", "old").ok();
        assertEquals(List.of(what + "; if its files are not needed: " + remove), found("plugin"));
        lab.docker("volume", "rm", volume).ok();
        assertEquals(List.of(), found("plugin"));
    }

    /** The engine lists only volumes that the plugin lists. */
    @Test
    void containerThatNvidiaDockerHasMade() {
        List<Object> words = new ArrayList<>(List.of("create", "--name", "of-old"));
        words.addAll(List.of("--network", "none", "--mount"));
        words.add(
                "type=volume,src=nvidia_driver_375.66,dst=/usr/local/nvidia,readonly,"
                        + "volume-driver=nvidia-docker,volume-nocopy");
        words.addAll(List.of("plain", "true"));
        makeAsIfLoaded("375.66", words.toArray());
        Directories.remove(volume().resolveSibling("375.66"));
        assertHint(
                "leftovers",
                "container of-old has volume nvidia_driver_375.66, of which there are no files: it"
                        + " gets those of the loaded driver; create it again with 'jnvdocker run',"
                        + " and docker rm of-old && docker volume rm nvidia_driver_375.66");
        lab.docker("rm", "of-old").ok();
        lab.docker("volume", "rm", "nvidia_driver_375.66").ok();
        assertWell();
    }

    /** Runs docker as of a time when another driver was loaded. */
    private static void makeAsIfLoaded(String version, Object... docker) {
        String loaded = lab.host().version();
        String libraries = host(LIBRARIES).toString();
        lab.host().version(version);
        shell("cd " + libraries + "; cp libcuda.so." + loaded + " libcuda.so." + version);
        try {
            lab.docker(docker).ok();
        } finally {
            lab.host().version(loaded);
            shell("rm -r " + libraries + "/libcuda.so." + version);
        }
    }

    @Test
    void containerOfANewerDriver() {
        makeAsIfLoaded(
                "550.163.01",
                "create",
                "--name=newer",
                "--network=none",
                "--mount",
                "type=volume,src=nvidia_driver_550.163.01,dst=/usr/local/nvidia,readonly,"
                        + "volume-driver=nvidia-docker,volume-nocopy",
                "plain",
                "true");
        List<String> found = found("claims");
        assertEquals(
                List.of(
                        "wrong: container newer cannot be started: nvidia_driver_550.163.01 is of a"
                                + " newer driver than "
                                + lab.host().version()
                                + ", which is loaded; create the container again with 'jnvdocker"
                                + " run', or load the newer driver"),
                found);
        assertEquals(1, doctor().exitCode());
        Command.Result refused = lab.docker("start", "newer");
        assertTrue(refused.err().contains("is of a newer driver than"), refused::toString);
        lab.docker("rm", "newer").ok();
        Directories.remove(volume().resolveSibling("550.163.01"));
        assertWell();
    }

    @Test
    void containerThatUsesAGpuBehindOurBack() {
        String node = host("dev/nvidia2") + ":/dev/nvidia2";
        lab.docker(
                        "run",
                        "-d",
                        "--name=plain-1",
                        "--network=none",
                        "--device",
                        node,
                        "plain",
                        "sleep",
                        "1000")
                .ok();
        assertWrong(
                "others",
                "GPU 2 (GPU-5c1a2006) is used by container plain-1, which jnvdocker did not start;"
                    + " docker stop plain-1, and start it with jnvdocker run; or add it to ignore"
                    + " in the configuration");
        lab.docker("rm", "-f", "plain-1").ok();
        assertWell();
    }

    @Test
    void claimWhoseGpuHasGone() throws IOException {
        lab.create("old", 3);
        // The daemon learns of the name by an event.
        Lab.await(() -> {
            Command.Result known = lab.jnvdocker("gpu", "why", "old");
            return known.exitCode() == 0 ? List.of() : List.of(known.err());
        });
        Path gpu = information(3).getParent();
        Files.move(gpu, host("away"));
        try {
            assertWrong(
                    "claims",
                    "container old cannot be started: GPU 3 (GPU-5c1a3009) is no longer on this"
                        + " host, or the driver does not show it; remove the container and run it"
                        + " again to get another GPU");
            Command.Result refused = lab.docker("start", "old");
            assertTrue(refused.err().contains("GPU 3 (GPU-5c1a3009) is no longer on this host"));
        } finally {
            Files.move(host("away"), gpu);
        }
        assertWell();
        lab.docker("start", "old").ok();
    }

    @Test
    void claimWhoseNodeIsAnotherGpus() throws IOException {
        lab.create("old", 3);
        Path information = information(3);
        String before = Files.readString(information);
        Files.writeString(information, before.replaceFirst("(Device Minor:\\s+)3", "$17"));
        shell("mknod " + host("dev/nvidia7") + " c 195 7");
        try {
            assertWrong(
                    "claims",
                    "container old cannot be started: GPU 3 (GPU-5c1a3009) has become /dev/nvidia7,"
                            + " and this container was given /dev/nvidia3, which is another GPU"
                            + " now; remove the container and run it again with --gpus"
                            + " device=GPU-5c1a3009");
        } finally {
            Files.writeString(information, before);
            shell("rm " + host("dev/nvidia7"));
        }
        assertWell();
    }

    @Test
    void stateDirectoryFromWhichNothingRuns() {
        Path state = lab.daemon().state();
        shell("mount --bind " + state + " " + state);
        shell("mount -o remount,bind,noexec " + state);
        try {
            assertWrong(
                    "state",
                    "no library can be loaded from "
                            + state.resolve("volumes/nvidia_driver")
                            + ": "
                            + state
                            + " is mounted noexec; run mount -o remount,exec "
                            + state
                            + " or choose another state directory (JNVDOCKER_STATE_DIR)");
        } finally {
            shell("umount -l " + state); // SQLite keeps what it has opened of its file.
        }
        assertWell();
    }

    @Test
    void stateDirectoryThatIsReadOnly() {
        Path state = lab.daemon().state();
        shell("mount --bind " + state + " " + state);
        shell("mount -o remount,bind,ro " + state);
        try {
            assertWrong(
                    "state",
                    state
                            + " is mounted read-only, and no GPU can be given out; mount it"
                            + " writable, or choose another state directory (JNVDOCKER_STATE_DIR)");
        } finally {
            shell("umount -l " + state); // SQLite keeps what it has opened of its file.
        }
        assertWell();
    }

    @Test
    void driverFileThatWasDamaged() throws IOException {
        Path file = volume().resolve("lib64/libcuda.so." + lab.host().version());
        // A copy, since the host's own file shares its blocks.
        shell("cp " + file + " " + file + "x && mv " + file + "x " + file);
        shell("printf damage | dd of=" + file + " bs=1 seek=100 conv=notrunc status=none");
        assertWrong(
                "volume",
                file
                        + " differs from the host's "
                        + host(LIBRARIES + "libcuda.so." + lab.host().version())
                        + "; make it again: jnvdocker gpu volume --remake");
        lab.run("train", 0);
        Command.Result refused = lab.jnvdocker("gpu", "volume", "--remake");
        assertEquals(125, refused.exitCode(), refused::toString);
        assertTrue(
                refused.err()
                        .contains(
                                "the driver volume is in use by root's container train; try again"
                                        + " when they have ended"),
                refused::toString);
        assertTrue(Files.exists(file));
        lab.docker("rm", "-f", "train").ok();
        lab.jnvdocker("gpu", "volume", "--remake").ok();
        assertWell();
        Files.delete(file);
        assertWrong(
                "volume",
                volume() + " is an incomplete driver volume; make it: jnvdocker gpu volume");
        // A new driver has no volume before the first run.
        shell("rm -r " + volume());
        assertEquals(List.of(), found("volume"));
        doctor().ok();
        lab.jnvdocker("gpu", "volume").ok();
        assertWell();
    }

    /** As on a machine whose programs are beneath a directory of the driver's own. */
    @Test
    void scriptAroundAProgramIsNoFileThatIsMissing() {
        Path script = host("usr/bin/nvidia-smi");
        Path program = host("usr/local/sbin/nvidia-smi");
        shell("mkdir -p " + program.getParent() + "; mv " + script + " " + program);
        shell("echo '#!/bin/sh' > " + script + "; rm -r " + volume());
        lab.jnvdocker("gpu", "volume").ok();
        assertEquals(List.of(), found("volume"));
        shell("mv " + program + " " + script + "; rm -r " + volume());
        lab.jnvdocker("gpu", "volume").ok();
        assertWell();
    }

    @Test
    void driverFileThatIsLeftOutForAReason() {
        Path dead = host(LIBRARIES + "libnvidia-extra.so." + lab.host().version());
        shell("printf nonsense > " + dead + "; rm -r " + volume());
        lab.jnvdocker("gpu", "volume").ok();
        List<String> found = found("volume");
        assertEquals(1, found.size(), found::toString);
        Lab.assertMatches(
                "hint: left out of the volume: /\\S+libnvidia-extra.so.\\S+ \\(not a library .*\\);"
                        + " see jnvdocker gpu volume, .*",
                found.getFirst());
        doctor().ok();
        shell("rm -r " + dead + " " + volume());
        lab.jnvdocker("gpu", "volume").ok();
        assertWell();
    }

    @Test
    void registryThatWasDamaged() throws IOException {
        lab.daemon().stop();
        Files.writeString(lab.daemon().state().resolve("registry.db"), "damage");
        lab.startDaemon();
        List<String> found = found("registry");
        assertEquals(1, found.size(), found::toString);
        Lab.assertMatches(
                "hint: the registry was damaged, and rebuilt from what the containers say; the"
                        + " history before that is in \\S+/registry.db.damaged-\\S+Z; check that"
                        + " disk's health, and rm \\S+Z\\*",
                found.getFirst());
        shell("rm " + lab.daemon().state() + "/registry.db.damaged-*");
        assertWell();
    }

    /** What the daemon has in memory says nothing of the disk. */
    @Test
    void registryThatIsDamagedWhileTheDaemonRuns() {
        Path registry = lab.daemon().state().resolve("registry.db");
        // Before that all of its pages are in SQLite's log.
        lab.daemon().stop();
        lab.startDaemon();
        shell("dd if=/dev/urandom of=" + registry + " bs=1k count=64 conv=notrunc status=none");
        List<String> found = found("registry");
        assertEquals(1, found.size(), found::toString);
        Lab.assertMatches(
                "wrong: (cannot read )?the registry " + registry + "\\b.*; restart jnvdockerd, .*",
                found.getFirst());
        lab.daemon().stop();
        lab.startDaemon();
        shell("rm " + lab.daemon().state() + "/registry.db.damaged-*");
        assertWell();
    }

    @Test
    void registryThatIsReplacedOrRemovedWhileTheDaemonRuns() {
        Path registry = lab.daemon().state().resolve("registry.db");
        for (String change : List.of("mv R R.kept", "cp R.kept R")) {
            shell(change.replace("R", registry.toString()));
            List<String> found = found("registry");
            assertEquals(1, found.size(), found::toString);
            Lab.assertMatches(
                    "wrong: " + registry + " was removed or replaced while jnvdockerd runs, .*",
                    found.getFirst());
        }
        shell("mv R.kept R".replace("R", registry.toString()));
        assertWell();
    }

    /**
     * Doctor is open to all who may use the socket, and shows no more of others than gpu ls does.
     */
    @Test
    void nothingIsLeftBehind() {
        List<String> before = lab.docker("volume", "ls", "-q").ok().out().lines().toList();
        doctor().ok();
        assertEquals(
                List.of("nvidia_driver_" + lab.host().version()),
                lab.docker("volume", "ls", "-q").ok().out().lines().toList(),
                before::toString);
        Lab.await(() -> lab.registry().live().isEmpty() ? List.of() : List.of("a lease"));
    }

    /** The daemon that runs has the settings of before, and the next one would not start. */
    @Test
    void mistakeInTheConfigurationIsFoundBeforeTheNextStart() {
        assertEquals(List.of(), found("configuration"));
        try {
            lab.daemon().config("max_gpu_unknown = 1\n");
            String found = found("configuration").getFirst();
            assertTrue(
                    found.startsWith("wrong: no daemon starts with the configuration: ")
                            && found.endsWith(
                                    ":1: unknown key 'max_gpu_unknown'; did you mean"
                                            + " max_gpus_unknown?"),
                    found);
        } finally {
            lab.configure("");
        }
        assertEquals(List.of(), found("configuration"));
    }

    @Test
    void shareableGpuWithoutNvmlIsFound() {
        lab.configure("shareable = ['1']\n");
        try {
            assertEquals(
                    List.of(
                            "hint: nobody gets a share (shareable) of GPU 1 (GPU-5c1a1003): NVML"
                                    + " does not report the memory; 'journalctl -u jnvdocker' says"
                                    + " why; nvidia-smi uses NVML as well"),
                    found("cordon"));
        } finally {
            lab.configure("");
        }
    }

    @Test
    void cordonOfNoGpuOfThisHostIsFound() {
        lab.configure("cordon = [1, 7, 'GPU-abc']\n");
        try {
            List<String> found = found("cordon");
            assertEquals(1, found.size(), found::toString);
            assertTrue(
                    found.getFirst()
                            .startsWith(
                                    "wrong: cordon in the configuration lists '7', 'GPU-abc',"
                                            + " which match no GPU on this host; correct that"),
                    found::toString);
        } finally {
            lab.configure("");
        }
        assertEquals(List.of(), found("cordon"));
    }

    /** A uid, or a namespace of Kubernetes, cannot be distinguished from a typing error. */
    @Test
    void limitsOfNobodyAreFound() {
        lab.configure(
                "[limits]\nroot = { gpus = 1 }\n'@rooot' = { gpus = 1 }\nalcie = { gpus = 1 }\n"
                        + "'@root' = { gpus = 1 }\n4711 = { gpus = 1 }\n"
                        + "'kubernetes:team' = { gpus = 1 }\n'*' = { gpus = 'any' }\n");
        try {
            assertEquals(
                    List.of(
                            "hint: limits are for @rooot, alcie, which this host does not have:"
                                    + " they limit nobody; correct the names in [limits], then run"
                                    + " 'jnvdocker gpu reload'"),
                    found("limits"));
        } finally {
            lab.configure("");
        }
        assertEquals(List.of(), found("limits"));
    }
}
