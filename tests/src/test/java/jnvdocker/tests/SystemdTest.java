package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.TestMachine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.util.List;

/** The units, under a real systemd and together with Debian's own units of Docker. */
@Tag("docker")
@Tag("root")
@Attack(
        by = "a fault",
        what = "the daemon ends five times within five minutes",
        result =
                "it is started again after 15 s; root's client starts it at once; doctor says"
                        + " how often and of what; before, service and socket stayed failed")
class SystemdTest {
    private static final String SOCKET = "jnvdocker.socket";
    private static final String SERVICE = "jnvdocker.service";
    private static final String AGAIN = "jnvdocker-again.service";
    private static final String NODES = "jnvdocker-nodes.service";
    private static final String PROXY = "jnvdocker-proxy.service";
    private static final String PROXY_SOCKET = "jnvdocker-proxy.socket";
    private static final String DOCKER = "docker.service";
    private static final String PLUGIN = "/run/docker/plugins/nvidia-docker.sock";
    private static final String INSTALL =
            """
            cp /opt/jnvdocker/lib/systemd/system/jnvdocker* /etc/systemd/system/
            systemctl daemon-reload
            systemctl enable --now jnvdocker.socket jnvdocker.service jnvdocker-nodes.service
            """;
    private static final List<String> LEFT_BY_HAND =
            List.of(
                    "systemctl disable --now jnvdocker.socket jnvdocker.service"
                            + " jnvdocker-nodes.service jnvdocker-proxy.socket"
                            + " jnvdocker-proxy.service",
                    "rm /etc/systemd/system/jnvdocker* && systemctl daemon-reload");
    private static final String OURS =
            "/opt/jnvdocker/bin/jnvdocker run -d --name keeps --gpus device=1 cuda sleep 1000; ";
    private static final String PLAIN =
            "docker run -d --name keeps --device /dev/nvidia1 cuda sleep 1000";
    private static final List<String> LINKING_STARTS =
            List.of(
                    OURS,
                    OURS + "docker stop -t 0 keeps; rm -r /dev/char; docker start keeps",
                    "systemctl restart jnvdocker.service; " + PLAIN,
                    "systemctl restart jnvdocker-nodes.service; " + PLAIN);

    private static DriverRoot host;
    private static TestMachine machine;
    private static String volume;

    @BeforeAll
    static void bootMachine() {
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535).slim();
        volume = "nvidia_driver_" + host.version();
        machine = new TestMachine(host);
        shell(INSTALL);
        systemctl("enable", "--now", DOCKER).ok();
        machine.image("cuda", "--label", "com.nvidia.volumes.needed=nvidia_driver");
    }

    @AfterAll
    static void removeMachine() {
        machine.close();
        host.close();
    }

    /** Creates a volume that docker remembers, so that docker calls the plugin. */
    @BeforeEach
    void makeAllWell() {
        systemctl("stop", AGAIN);
        shell("rm -rf /etc/jnvdocker /etc/systemd/system/jnvdocker.service.d /run/jnvdocker-again");
        shell("rm -f /var/lib/jnvdocker/ends");
        shell(INSTALL);
        systemctl("reset-failed").ok();
        systemctl("start", SOCKET, SERVICE, DOCKER).ok();
        shell("docker ps -aq | xargs -r docker rm -f");
        docker("volume", "create", "-d", "nvidia-docker", volume).ok();
    }

    private static Command.Result shell(String script) {
        return machine.command("sh", "-ec", script).run().ok();
    }

    private static Command.Result systemctl(Object... arguments) {
        return run("systemctl", arguments);
    }

    private static Command.Result docker(Object... arguments) {
        return run("docker", arguments);
    }

    private static Command.Result run(String program, Object... arguments) {
        Object[] words = new Object[arguments.length + 1];
        words[0] = program;
        System.arraycopy(arguments, 0, words, 1, arguments.length);
        return machine.command(words).run();
    }

    private static void breakConfiguration() {
        shell("mkdir -p /etc/jnvdocker; echo 'nonsense = 1' > /etc/jnvdocker/config.toml");
    }

    private static void assertActive(String unit) {
        assertEquals("active", machine.property(unit, "ActiveState"), unit);
    }

    private static void assertInactive(String unit) {
        assertEquals("inactive", machine.property(unit, "ActiveState"), unit);
    }

    @Test
    void systemdFindsNothingWrong() {
        Command.Result result =
                machine.command(
                                "systemd-analyze",
                                "verify",
                                "--man=no",
                                "--recursive-errors=no",
                                "/etc/systemd/system/" + SOCKET,
                                "/etc/systemd/system/" + SERVICE,
                                "/etc/systemd/system/" + AGAIN,
                                "/etc/systemd/system/" + NODES,
                                "/etc/systemd/system/" + PROXY_SOCKET,
                                "/etc/systemd/system/" + PROXY)
                        .run()
                        .ok();
        assertFalse(result.toString().contains("jnvdocker"), result::toString);
    }

    @Test
    void allOfOursIsThereBeforeDockerStartsItsContainersAtBoot() {
        machine.jnvdocker(
                        "run",
                        "-d",
                        "--name=always",
                        "--restart=always",
                        "--stop-signal=KILL",
                        "--gpus=device=1",
                        "cuda",
                        "sleep",
                        "1000")
                .run()
                .ok();
        machine.boot();
        Command.Result result =
                docker("exec", "always", "ls", "/dev/nvidia1", "/usr/local/nvidia/bin/nvidia-smi");
        assertEquals(
                "/dev/nvidia1\n/usr/local/nvidia/bin/nvidia-smi\n", result.out(), result::toString);
        long docker = timestamp(DOCKER, "ExecMainStartTimestampMonotonic");
        List<String> earlier = List.of(machine.property(DOCKER, "After").split(" "));
        for (String unit : List.of(SOCKET, SERVICE, NODES)) {
            assertTrue(timestamp(unit, "ActiveEnterTimestampMonotonic") < docker, unit);
            assertTrue(earlier.contains(unit), () -> unit + " in " + earlier);
        }
        assertTrue(machine.property(SERVICE, "Requires").contains(SOCKET));
        assertEquals("running\n", systemctl("is-system-running").out());
    }

    private static long timestamp(String unit, String property) {
        return Long.parseLong(machine.property(unit, property));
    }

    @Test
    void socketOutlivesTheDaemonAndStartsIt() {
        String before = stat();
        assertTrue(before.startsWith("600 root "), before);
        systemctl("stop", SERVICE).ok();
        assertInactive(SERVICE);
        assertEquals(before, stat());
        assertTrue(machine.journal(SERVICE).endsWith("INFO Main - stopped\n"));
        docker("volume", "inspect", volume).ok();
        assertActive(SERVICE);
        assertEquals(before, stat());
    }

    @Test
    void serviceIsHardenedAndSharesItsMountsWithDocker() {
        Command.Result security = run("systemd-analyze", "security", "--no-pager", SERVICE);
        String verdict = security.out().lines().reduce("", (_, line) -> line);
        double exposure = Double.parseDouble(verdict.replaceAll(".*: ([0-9.]+) .*", "$1"));
        assertTrue(exposure < 7.0, security::toString);
        String pid = machine.property(SERVICE, "MainPID");
        assertEquals(
                run("readlink", "/proc/1/ns/mnt").ok().out(),
                run("readlink", "/proc/" + pid + "/ns/mnt").ok().out());
    }

    /** With all restrictions of its unit, and by a socket that outlives it. */
    @Test
    void proxyLabelsContainersWhileItMayDoNothingElse() {
        assertEquals("disabled", machine.property(PROXY_SOCKET, "UnitFileState"));
        systemctl("start", PROXY_SOCKET).ok();
        assertInactive(PROXY);
        String engine = "unix:///run/jnvdocker/docker.sock";
        assertEquals(
                "through it\n",
                shell("echo through it | docker -H " + engine + " run -i --network none cuda cat")
                        .out());
        assertActive(PROXY);
        // Its restrictions let it run a client of the daemon, which finds that nothing is
        // requested.
        shell(
                "docker -H "
                        + engine
                        + " run --rm --label jnvdocker.wait=1m --network none cuda true");
        systemctl("stop", PROXY).ok();
        assertTrue(machine.journal(PROXY).contains("serving Docker's API on /run/jnvdocker"));
        assertEquals(
                "660 root root\n", shell("stat -c '%a %U %G' /run/jnvdocker/docker.sock").out());
        shell("docker -H " + engine + " create --name through cuda");
        assertActive(PROXY);
        assertEquals(
                "uid:0\n",
                docker("inspect", "-f", "{{index .Config.Labels \"jnvdocker.owner\"}}", "through")
                        .ok()
                        .out());
        Command.Result security = run("systemd-analyze", "security", "--no-pager", PROXY);
        String verdict = security.out().lines().reduce("", (_, line) -> line);
        double exposure = Double.parseDouble(verdict.replaceAll(".*: ([0-9.]+) .*", "$1"));
        assertTrue(exposure < 3.0, security::toString);
        systemctl("stop", PROXY_SOCKET, PROXY).ok();
        shell("! test -e /run/jnvdocker/docker.sock");
    }

    @Test
    void reloadOfTheServiceFailsWithAWrongConfiguration() {
        String pid = machine.property(SERVICE, "MainPID");
        systemctl("reload", SERVICE).ok();
        breakConfiguration();
        assertTrue(systemctl("reload", SERVICE).exitCode() != 0);
        assertTrue(
                machine.journal(SERVICE).contains("the previous settings stay in force: "),
                () -> machine.journal(SERVICE));
        shell("rm -rf /etc/jnvdocker");
        systemctl("reload", SERVICE).ok();
        assertEquals(pid, machine.property(SERVICE, "MainPID"));
    }

    /** What systemd starts for it must not have made the plugin's socket a blocking one. */
    @Test
    void newConnectionsOfDockerAreServedAfterAReload() {
        systemctl("reload", SERVICE).ok();
        systemctl("restart", DOCKER).ok();
        docker("volume", "inspect", volume).ok();
        machine.jnvdocker("run", "--rm", "--gpus=1", "cuda", "true").run().ok();
        systemctl("restart", SERVICE).ok();
        systemctl("reload", SERVICE).ok();
        machine.jnvdocker("run", "--rm", "--gpus=1", "cuda", "true").run().ok();
    }

    @Test
    void decisionsAreInTheJournalWithTheirFields() {
        machine.jnvdocker("run", "-d", "--name=train-7", "--gpus=device=1", "cuda", "sleep", "1000")
                .run()
                .ok();
        machine.jnvdocker("run", "--rm", "--name=greedy", "--gpus=99", "cuda", "true").run();
        assertEquals("root", decision("granted", "JNVDOCKER_USER"));
        String gpu = decision("granted", "JNVDOCKER_GPUS");
        assertTrue(gpu.startsWith("GPU-5c1a1003-"), gpu);
        Lab.await(() ->
                machine.jnvdocker("gpu", "ls").run().out().contains("train-7")
                        ? List.of()
                        : List.of("its name is not known"));
        docker("rm", "-f", "train-7").ok();
        Lab.await(() ->
                decision("released", "JNVDOCKER_CONTAINER").equals("train-7")
                        ? List.of()
                        : List.of("its release is not in the journal"));
        assertEquals(gpu, decision("released", "JNVDOCKER_GPUS"));
        assertEquals("container of image cuda", decision("refused", "JNVDOCKER_PURPOSE"));
        String why = decision("refused", "JNVDOCKER_REASON");
        assertTrue(why.startsWith("99 GPUs requested"), why);
        String lines = machine.journal(SERVICE);
        assertTrue(
                lines.contains("released GPU 1 (GPU-5c1a1003) of root's container train-7"), lines);
    }

    /** A field of the last decision of a kind. */
    private static String decision(String kind, String field) {
        return machine.command(
                        "journalctl",
                        "-q",
                        "-o",
                        "cat",
                        "--output-fields=" + field,
                        "-u",
                        SERVICE,
                        "JNVDOCKER_DECISION=" + kind)
                .run()
                .ok()
                .out()
                .lines()
                .reduce("", (_, line) -> line);
    }

    private static String stat() {
        return machine.command("stat", "-c", "%a %U %i", PLUGIN).run().ok().out();
    }

    @Test
    void daemonThatWasKilledIsStartedAgain() {
        String before = machine.property(SERVICE, "MainPID");
        systemctl("kill", "--signal=KILL", SERVICE).ok();
        docker("volume", "inspect", volume).ok();
        machine.jnvdocker("gpu", "ls").run().ok();
        assertNotEquals(before, machine.property(SERVICE, "MainPID"));
    }

    @Test
    void dockerThatStartsFirstIsAnsweredAllTheSame() {
        systemctl("stop", SERVICE).ok();
        int known = machine.journal(DOCKER).length();
        systemctl("restart", DOCKER).ok();
        assertTrue(docker("volume", "ls", "-q").ok().out().contains(volume));
        String said = machine.journal(DOCKER).substring(known);
        assertFalse(said.contains("Unable to connect to plugin"), said);
        assertActive(SERVICE);
    }

    @Test
    void dockerThatIsStoppedStaysStopped() throws InterruptedException {
        machine.jnvdocker("run", "-d", "--stop-signal=KILL", "--gpus=1", "cuda", "sleep", "1000")
                .run()
                .ok();
        systemctl("stop", DOCKER);
        // Longer than the daemon's intervals between checks of the engine and of the leases.
        Thread.sleep(6_000);
        assertInactive(DOCKER);
        assertActive("docker.socket");
        systemctl("start", DOCKER).ok();
        machine.jnvdocker("run", "--rm", "--gpus=all", "cuda", "true").run().ok();
    }

    @Test
    void daemonThatNeverStartsKeepsDockerFromNothing() throws InterruptedException {
        breakConfiguration();
        assertNotEquals(0, systemctl("restart", SERVICE).exitCode());
        systemctl("restart", DOCKER).ok();
        docker("ps").ok();
        while (!machine.property(SOCKET, "Result").equals("service-start-limit-hit")) {
            Thread.sleep(200);
        }
        assertNotEquals(0, machine.command("test", "-e", PLUGIN).run().exitCode());
        shell("rm /etc/jnvdocker/config.toml");
        systemctl("reset-failed", SERVICE).ok();
        systemctl("start", SERVICE).ok();
        assertActive(SOCKET);
        docker("volume", "inspect", volume).ok();
    }

    /** The same configuration that fails five times is right when the sixth start reads it. */
    @Test
    void daemonComesBackAfterAnyNumberOfEnds() throws InterruptedException {
        breakConfiguration();
        assertNotEquals(0, systemctl("restart", SERVICE).exitCode());
        while (!machine.property(SOCKET, "Result").equals("service-start-limit-hit")) {
            Thread.sleep(200);
        }
        shell("rm /etc/jnvdocker/config.toml");
        while (!machine.property(SERVICE, "ActiveState").equals("active")) {
            Thread.sleep(200);
        }
        assertActive(SOCKET);
        docker("volume", "inspect", volume).ok();
        String doctor = machine.jnvdocker("gpu", "doctor").run().out();
        assertTrue(
                doctor.lines()
                        .anyMatch(line ->
                                line.matches(
                                        ".* hint +the daemon has ended by itself [56] times in 24"
                                                + " hours, the last time at .*: exit code 125"
                                                + " \\([56] times\\); .*")),
                doctor);
    }

    @Test
    void rootsClientStartsADaemonThatSystemdHasGivenUp() throws InterruptedException {
        breakConfiguration();
        assertNotEquals(0, systemctl("restart", SERVICE).exitCode());
        while (!machine.property(SOCKET, "Result").equals("service-start-limit-hit")) {
            Thread.sleep(200);
        }
        systemctl("stop", AGAIN).ok();
        shell("rm /etc/jnvdocker/config.toml");
        machine.jnvdocker("gpu", "ls").run().ok();
        assertActive(SERVICE);
        assertActive(SOCKET);
    }

    @Test
    void socketThatIsNotThePluginsIsRefused() {
        shell(
                """
                mkdir /etc/systemd/system/jnvdocker.service.d
                echo '[Service]\nEnvironment=JNVDOCKER_PLUGIN_NAME=other' \
                    > /etc/systemd/system/jnvdocker.service.d/name.conf
                systemctl daemon-reload
                """);
        assertNotEquals(0, systemctl("restart", SERVICE).exitCode());
        String journal = machine.journal(SERVICE);
        assertTrue(
                journal.contains(
                        "jnvdocker: the socket on standard input listens on "
                                + PLUGIN
                                + " and the plugin's socket is /run/docker/plugins/other.sock; let"
                                + " ListenStream in jnvdocker.socket and JNVDOCKER_PLUGIN_DIR and"
                                + " JNVDOCKER_PLUGIN_NAME in jnvdocker.service name one and the"
                                + " same\n"),
                journal);
        // Else the start that systemd tries next would fail amid the next test.
        systemctl("stop", SERVICE).ok();
    }

    @Test
    void rootsCommandHasSystemdStartTheDaemon() {
        systemctl("stop", SERVICE).ok();
        Command.Result result = machine.jnvdocker("gpu", "ls").run().ok();
        assertEquals(
                "jnvdocker: no daemon at /run/jnvdocker/jnvdocker.sock, starting"
                        + " jnvdocker.service\n",
                result.err());
        assertActive(SERVICE);
    }

    @Test
    void startThatFailsUnderSystemdPointsToTheJournal() {
        systemctl("stop", SERVICE).ok();
        breakConfiguration();
        Command.Result result = machine.jnvdocker("gpu", "ls").run();
        assertEquals(125, result.exitCode());
        assertTrue(
                result.err()
                        .endsWith(
                                "jnvdocker: systemctl start jnvdocker.service failed (exit code 1);"
                                        + " 'systemctl status jnvdocker' and 'journalctl -u"
                                        + " jnvdocker' say why\n"),
                result::toString);
        assertTrue(machine.journal(SERVICE).contains("config.toml:1: unknown key 'nonsense'"));
    }

    @Test
    void serviceThatServesAnotherSocketIsNamed() {
        Command.Result result =
                machine.command(
                                "sh",
                                "-ec",
                                "mv /run/jnvdocker/jnvdocker.sock /run/jnvdocker/moved;"
                                        + " /opt/jnvdocker/bin/jnvdocker gpu ls")
                        .run();
        assertEquals(125, result.exitCode());
        assertTrue(
                result.err()
                        .contains(
                                "jnvdocker.service runs and does not serve"
                                        + " /run/jnvdocker/jnvdocker.sock (No such file or"
                                        + " directory); "),
                result::toString);
        systemctl("restart", SERVICE).ok();
        machine.jnvdocker("gpu", "ls").run().ok();
    }

    @Test
    void daemonWithDirectoriesOfItsOwnIsNotTheService() {
        systemctl("stop", SERVICE).ok();
        Command.Result result =
                machine.jnvdocker("gpu", "ls")
                        .with("JNVDOCKER_RUN_DIR", "/tmp/run")
                        .with("JNVDOCKER_STATE_DIR", "/tmp/state")
                        .with("JNVDOCKER_PLUGIN_DIR", "/tmp/plugins")
                        .run()
                        .ok();
        assertTrue(
                result.err().contains("starting /opt/jnvdocker/bin/jnvdockerd"), result::toString);
        assertInactive(SERVICE);
        shell("kill $(cat /tmp/run/jnvdockerd.pid)");
    }

    private static final String NODES_MADE = "/opt/jnvdocker/bin/jnvdockerd --make-nodes";

    private static Command.Result doctor() {
        return machine.jnvdocker("gpu", "doctor").run();
    }

    private static void assertWrong(String finding) {
        Command.Result result = doctor();
        assertEquals(1, result.exitCode(), result::toString);
        assertTrue(result.out().contains(finding + "\n"), result::toString);
    }

    private static void assertWell() {
        Command.Result result = doctor().ok();
        assertTrue(
                result.out().contains("ok        all are enabled, and start before Docker\n"),
                result::toString);
    }

    @Test
    void doctorFindsUnitsThatWouldNotBeThereAfterABoot() {
        shell(NODES_MADE);
        assertWell();
        systemctl("disable", SOCKET).ok();
        assertWrong(
                "jnvdocker.socket is not enabled, so it does not start at boot; systemctl enable"
                        + " --now jnvdocker.socket");
        systemctl("enable", "--now", SOCKET).ok();
        shell("rm /etc/systemd/system/jnvdocker-nodes.service; systemctl daemon-reload");
        assertWrong(
                "not installed: jnvdocker-nodes.service, so that GPU containers do not come back"
                        + " after a boot; cp /opt/jnvdocker/lib/systemd/system/jnvdocker*"
                        + " /etc/systemd/system/ && systemctl daemon-reload && systemctl enable"
                        + " jnvdocker.socket jnvdocker.service jnvdocker-nodes.service");
        shell(INSTALL);
        shell(
                "sed -i '/^Before=docker.service/d' /etc/systemd/system/jnvdocker.service;"
                        + " systemctl daemon-reload");
        Command.Result result = doctor();
        assertEquals(1, result.exitCode(), result::toString);
        assertTrue(
                result.out()
                        .contains(
                                "docker.service does not wait for jnvdocker.service: at boot Docker"
                                        + " starts GPU containers too early; "),
                result::toString);
        shell(INSTALL);
        assertWell();
    }

    @Test
    void doctorFindsADaemonThatAClientHasStarted() {
        shell(NODES_MADE);
        systemctl("stop", SOCKET, SERVICE).ok();
        machine.jnvdocker("gpu", "ls").with("JNVDOCKER_RUN_DIR", "/run/jnvdocker").run().ok();
        assertInactive(SERVICE);
        String mend =
                "kill $(cat /run/jnvdocker/jnvdockerd.pid) && systemctl start jnvdocker.socket"
                        + " jnvdocker.service";
        assertWrong(
                "this daemon was not started by jnvdocker.service, and nothing restarts it when"
                        + " it ends; "
                        + mend);
        shell(mend);
        assertWell();
    }

    @Test
    void doctorFindsThePluginsSocketThatWasDeleted() {
        shell(NODES_MADE);
        shell("rm " + PLUGIN);
        String mend = "systemctl restart jnvdocker.socket jnvdocker.service";
        assertWrong("the plugin's socket " + PLUGIN + " is gone; restart jnvdocker: " + mend);
        shell(mend);
        assertWell();
    }

    @Test
    void doctorAsksNvidiaSmiForPersistenceMode() {
        shell(NODES_MADE);
        replaceNvidiaSmi("echo '0, Enabled'; echo '1, Disabled'");
        String found = doctor().out();
        assertTrue(
                found.matches(
                        "(?s).*\npersistence +hint +GPU 1 without persistence mode: the first use"
                                + " after a pause takes seconds; run nvidia-persistenced, or"
                                + " nvidia-smi -pm 1 at each boot\n.*"),
                found);
        replaceNvidiaSmi("sleep 60");
        String late = doctor().out();
        assertTrue(
                late.matches(
                        "(?s).*\n"
                                + "persistence +unknown +nvidia-persistenced does not run, and"
                                + " nvidia-smi does not report it: it does not end within 5000 ms\n"
                                + ".*"),
                late);
        shell("rm -r " + directory() + "; /opt/jnvdocker/bin/jnvdocker gpu volume");
        assertWell();
    }

    private static String directory() {
        return "/var/lib/jnvdocker/volumes/nvidia_driver/" + host.version();
    }

    /**
     * Replaces nvidia-smi by a script of the same size, as otherwise the volume would not be whole.
     */
    private static void replaceNvidiaSmi(String script) {
        String text = "#!/bin/sh\n" + script + "\nexit\n";
        String replace =
                """
                cd "$0"
                printf %%s "$1" > /tmp/smi
                tail -c +%d nvidia-smi >> /tmp/smi
                chmod 755 /tmp/smi
                mv /tmp/smi nvidia-smi
                """
                        .formatted(text.length() + 1);
        machine.command("sh", "-ec", replace, directory() + "/bin", text).run().ok();
    }

    /** Systemd sets the device rules of every cgroup again, as runc has requested. */
    @Test
    void containersKeepTheirGpusWhenSystemdReloads() {
        shell(NODES_MADE);
        useCgroupsOf("systemd");
        String runc = shell("runc --version | sed -n 's/^runc version //p'").out().strip();
        try {
            shell("rm -rf /dev/char");
            if (runc.matches("1\\.(0\\.|1\\.[0-6]\\b).*")) {
                assertWrong(
                        "a systemctl daemon-reload takes the GPUs of running containers:"
                                + " systemd manages their cgroups, runc "
                                + runc
                                + " passes on only devices with a link in /dev/char, and"
                                + " there is none for 195:0, 195:1, 195:2, 195:3, 195:255,"
                                + " 510:0, 510:1; make the links: "
                                + NODES_MADE
                                + "; containers that run already have them from their next"
                                + " restart on");
            } else {
                assertWell();
            }
            for (String start : LINKING_STARTS) {
                shell("docker ps -aq | xargs -r docker rm -f; rm -rf /dev/char");
                shell(start);
                assertFalse(doctor().out().contains("daemon-reload"), start);
                assertEquals("No such device or address", opens("keeps", 1), start);
                systemctl("daemon-reload").ok();
                systemctl("daemon-reload").ok();
                assertEquals("No such device or address", opens("keeps", 1), start);
            }
        } finally {
            shell("docker ps -aq | xargs -r docker rm -f");
            useCgroupsOf("cgroupfs");
        }
        assertWell();
    }

    @Test
    void containerThatMayOpenEveryDeviceKeepsTheOthersWhenSystemdReloads() {
        shell(NODES_MADE);
        useCgroupsOf("systemd");
        machine.jnvdocker("runtime", "install").run().ok();
        try {
            systemctl("reload", DOCKER).ok();
            String id =
                    docker(
                                    "run",
                                    "-d",
                                    "--runtime=nvidia",
                                    "--network=none",
                                    "--device-cgroup-rule=a *:* rwm",
                                    "--env=NVIDIA_VISIBLE_DEVICES=void",
                                    "cuda",
                                    "sleep",
                                    "1000")
                            .ok()
                            .out()
                            .strip();
            String allowed = machine.property("docker-" + id + ".scope", "DeviceAllow");
            assertTrue(allowed.contains("block-* rwm"), allowed);
            systemctl("daemon-reload").ok();
            String open = "mknod /dev/gpu c 195 0; tryopen /dev/gpu; tryopen /dev/null";
            assertEquals("EPERM\nok\n", docker("exec", id, "sh", "-c", open).out());
        } finally {
            shell("docker ps -aq | xargs -r docker rm -f");
            machine.jnvdocker("runtime", "uninstall").run().ok();
            useCgroupsOf("cgroupfs");
            // The program stays until docker has been restarted.
            machine.jnvdocker("runtime", "uninstall").run().ok();
        }
    }

    private static void useCgroupsOf(String driver) {
        shell(
                "sed -i 's/cgroupdriver=[a-z]*/cgroupdriver="
                        + driver
                        + "/' /etc/docker/daemon.json");
        systemctl("restart", DOCKER).ok();
    }

    /** The error of a container that opens its GPU, which always fails: there is no driver here. */
    private static String opens(String name, int gpu) {
        Command.Result result = docker("exec", name, "sh", "-c", ": <> /dev/nvidia" + gpu);
        return result.err().strip().replaceFirst("(?s).*: ", "");
    }

    @Test
    void nodeThatCannotBeMadeFailsItsUnitAlone() {
        shell("rm /dev/nvidia0; touch /dev/nvidia0");
        assertNotEquals(0, systemctl("restart", NODES).exitCode());
        assertEquals("125", machine.property(NODES, "ExecMainStatus"));
        String journal = machine.journal(NODES);
        assertTrue(
                journal.contains("jnvdocker: /dev/nvidia0 is not the character device 195:0"),
                journal);
        shell("rm /dev/nvidia0");
        systemctl("restart", NODES).ok();
        shell("test -c /dev/nvidia0");
    }

    @Test
    void hostWithoutADriverBoots() {
        try (DriverRoot bare = DriverRoot.make(DriverRoot.Release.DRIVER_535).slim()) {
            Directories.remove(bare.directory().resolve("proc/driver/nvidia"));
            bare.write("proc/devices", "Character devices:\n  1 mem\n");
            try (TestMachine driverless = new TestMachine(bare)) {
                driverless.command("sh", "-ec", INSTALL).run().ok();
                driverless.boot();
                String journal = driverless.journal(NODES);
                assertTrue(
                        journal.startsWith(
                                "jnvdocker: no NVIDIA driver is loaded, and none can be"),
                        journal);
                assertEquals(
                        "running\n",
                        driverless.command("systemctl", "is-system-running").run().out());
                assertEquals("active", driverless.property(SERVICE, "ActiveState"));
            }
        }
    }

    @Test
    void uninstalledItIsMissedByNobody() {
        machine.jnvdocker("run", "--name=old", "--gpus=device=1", "cuda", "true").run().ok();
        Command.Result refusal = machine.jnvdocker("gpu", "uninstall").run();
        assertEquals(125, refusal.exitCode(), refusal::toString);
        assertActive(SERVICE);
        docker("rm", "old").ok();
        Command.Result result = machine.jnvdocker("gpu", "uninstall").run().ok();
        assertInactive(SERVICE);
        assertInactive(SOCKET);
        assertNotEquals(0, machine.command("test", "-e", PLUGIN).run().exitCode());
        for (String command : LEFT_BY_HAND) {
            assertTrue(result.out().contains("\n    " + command + "\n"), result::toString);
            shell(command);
        }
        int known = machine.journal(DOCKER).length();
        systemctl("restart", DOCKER).ok();
        assertEquals("", docker("volume", "ls", "-q").ok().out());
        String said = machine.journal(DOCKER).substring(known);
        assertFalse(said.contains("plugin nvidia-docker"), said);
    }
}
