package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.TestMachine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The Debian package and the RPM, on a machine that systemd has booted, beside Debian's Docker. */
@Tag("docker")
@Tag("root")
class PackageTest {
    private static final List<String> UNITS =
            List.of("jnvdocker.socket", "jnvdocker.service", "jnvdocker-nodes.service");

    /** In the machine, where the packages are. */
    private static final String PACKAGES = "/opt/jnvdocker/";

    private static final Path DIRECTORY = Directories.make("packages");

    private static DriverRoot host;
    private static TestMachine machine;

    @BeforeAll
    static void bootMachine() throws IOException {
        for (String kind : List.of("deb", "rpm")) {
            Files.copy(Project.built("." + kind), DIRECTORY.resolve("built." + kind));
        }
        makeEarlierOne();
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535, 4).slim();
        machine = new TestMachine(host, DIRECTORY);
        // Nobody pulls the plug of this machine, or looks for manual pages in it.
        shell(
                "echo force-unsafe-io > /etc/dpkg/dpkg.cfg.d/tests; rm -f"
                        + " /var/lib/man-db/auto-update");
        // As Docker has it where systemd runs.
        shell("sed -i s/cgroupdriver=cgroupfs/cgroupdriver=systemd/ /etc/docker/daemon.json");
        shell("systemctl enable --now docker.service");
        machine.image("cuda", "--label", "com.nvidia.volumes.needed=nvidia_driver");
    }

    @AfterAll
    static void removeMachine() {
        machine.close();
        host.close();
        Directories.remove(DIRECTORY);
    }

    @AfterEach
    void purge() {
        shell("docker ps -aq | xargs -r docker rm -f; dpkg --purge jnvdocker");
        assertNothingIsLeft();
    }

    /** Makes the same package with an earlier version. */
    private static void makeEarlierOne() {
        Command.of(
                        "sh",
                        "-ec",
                        """
                        dpkg-deb -R built.deb tree
                        was=$(sed -n 's/^Version: //p' tree/DEBIAN/control)
                        sed -i "s/^Version: .*/Version: 0.0.9/" tree/DEBIAN/control
                        sed -i "s/\\b$was\\b/0.0.9/g" tree/DEBIAN/preinst
                        dpkg-deb --root-owner-group -Znone -b tree earlier.deb > /dev/null
                        rm -r tree
                        """)
                .in(DIRECTORY)
                .run()
                .ok();
    }

    private static final String RPM =
            "rpm --install --nodeps @.rpm; rpm --erase --nodeps jnvdocker";

    private static Command.Result sh(String script) {
        return machine.command("sh", "-ec", script).run();
    }

    private static Command.Result shell(String script) {
        return sh(script).ok();
    }

    private static Command.Result install(String name) {
        return sh("dpkg -i " + PACKAGES + name + ".deb");
    }

    private static void assertServes() {
        for (String unit : UNITS) {
            assertEquals("enabled", machine.property(unit, "UnitFileState"), unit);
            assertEquals("active", machine.property(unit, "ActiveState"), unit);
        }
        String doctor = sh("jnvdocker gpu doctor").out();
        assertTrue(doctor.contains("all are enabled, and start before Docker"), doctor);
    }

    private static void assertNothingIsLeft() {
        assertEquals(
                "",
                shell(
                                "find /etc /run /usr /var/cache /var/lib -xdev -iname"
                                        + " '*jnvdocker*'; find /run/docker/plugins -name"
                                        + " nvidia-docker.sock")
                        .out());
    }

    @Test
    void lintianFindsNoError() {
        Command.of("lintian", "--allow-root", "--fail-on", "error", Project.built(".deb"))
                .run()
                .ok();
    }

    @Test
    void installedPackageServesAtOnceAndAfterABootAndAnRpmIsTheSame() {
        install("built").ok();
        assertServes();
        assertEquals(
                "nvidia0\n",
                shell("jnvdocker run --rm --gpus 1 cuda ls /dev | grep 'nvidia[0-3]'").out());
        String settings = shell("cat /etc/jnvdocker/config.toml").out();
        assertTrue(settings.contains("#default_gpus = \"all\""), settings);
        machine.boot();
        assertServes();
        String deb = installed();
        shell("dpkg --purge jnvdocker");
        assertNothingIsLeft();
        shell("rpm --install --nodeps " + PACKAGES + "built.rpm");
        assertEquals(deb, installed());
        assertServes();
        shell("jnvdocker run --rm --gpus 1 cuda true");
        shell(
                "rpm --erase --nodeps jnvdocker; rm -rf /var/lib/jnvdocker /run/jnvdocker"
                        + " /etc/jnvdocker");
        // The name of the machine that built it would make each build another one.
        assertEquals(
                "localhost", shell("rpm -qp --qf '%{BUILDHOST}' " + PACKAGES + "built.rpm").out());
    }

    @Test
    void bothPackagesNameTheLeastVersionOfTheCLibrary() {
        String deb =
                Command.of("dpkg-deb", "-f", Project.built(".deb"), "Depends").run().ok().out();
        Matcher least = Pattern.compile("libc6 \\(>= (2\\.[0-9]+)\\)").matcher(deb.strip());
        assertTrue(least.matches(), deb);
        String rpm = Command.of("rpm", "-qp", "--requires", Project.built(".rpm")).run().ok().out();
        assertTrue(rpm.lines().toList().contains("glibc >= " + least.group(1)), rpm);
    }

    @Test
    void upgradeKeepsLeasesContainersAndWaitersAndHasNoWayBack() {
        install("earlier").ok();
        assertServes();
        shell(
                """
                for gpu in 0 1 2 3; do
                  jnvdocker run -d --name train-$gpu --gpus device=$gpu --stop-signal KILL cuda sleep 1000
                done
                nohup jnvdocker run --gpus device=3 --gpu-wait --name waiter cuda true > /tmp/waiter 2>&1 &
                """);
        Lab.await(() -> {
            String queue = sh("jnvdocker gpu queue").out();
            return queue.contains("container waiter") ? List.of() : List.of(queue);
        });
        String leases = shell("jnvdocker gpu leases --json").out();
        String daemon = machine.property("jnvdocker.service", "MainPID");
        List<String> processes = processes();
        install("built").ok();
        assertServes();
        assertNotEquals(daemon, machine.property("jnvdocker.service", "MainPID"));
        assertEquals(leases, shell("jnvdocker gpu leases --json").out());
        assertEquals(processes, processes());
        assertOpen("train-0", 0);
        shell("systemctl daemon-reload");
        assertOpen("train-3", 3);
        assertTrue(shell("jnvdocker gpu queue").out().contains("container waiter"));
        shell("docker rm -f train-3");
        Lab.await(() -> {
            String state =
                    sh("docker inspect -f '{{.State.ExitCode}} {{.State.Status}}' waiter").out();
            return state.equals("0 exited\n")
                    ? List.of()
                    : List.of(state + sh("cat /tmp/waiter").out());
        });
        String version = version();
        Command.Result refused = install("earlier");
        assertNotEquals(0, refused.exitCode());
        String why = "is older than the installed " + version + ", whose registry it cannot";
        assertTrue(refused.err().contains(why), refused::toString);
        assertServes();
        assertEquals(version, version());
    }

    private static String version() {
        return shell("dpkg-query -f '${Version}' -W jnvdocker").out();
    }

    /** The device cgroup lets it open its GPU, of which there is only the node. */
    private static void assertOpen(String container, int gpu) {
        String error =
                sh("docker exec " + container + " sh -c ': <> /dev/nvidia" + gpu + "'").err();
        assertTrue(error.contains("No such device or address"), error);
    }

    private static List<String> processes() {
        return shell("docker inspect -f '{{.State.Pid}}' $(docker ps -q | sort)")
                .out()
                .lines()
                .toList();
    }

    /** As a lab has it, with a key of its own; the build's repository differs in the signature. */
    @Test
    void aptInstallsFromTheSignedRepository() {
        Command.of(
                        "sh",
                        "-ec",
                        """
                        export GNUPGHOME=$PWD/keys
                        mkdir -m 700 keys
                        trap 'gpgconf --kill all' EXIT
                        gpg --batch --quiet --passphrase '' --quick-generate-key lab@example.org default sign
                        "$1" apt 2026-01-02T00:00:00Z lab@example.org "$2"
                        """,
                        "sh",
                        Project.source("src/package/apt-repository"),
                        Project.built(".deb"))
                .in(DIRECTORY)
                .run()
                .ok();
        String apt =
                "apt-get -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=/tmp/sources -o"
                        + " Dir::State::Lists=/tmp/lists ";
        shell(
                """
                mkdir -p /tmp/sources /tmp/lists/partial
                cat > /tmp/sources/jnvdocker.sources << 'END'
                Types: deb
                URIs: file:/srv/lab
                Suites: stable
                Components: main
                Signed-By: /srv/lab/jnvdocker.gpg
                END
                # Readable by apt's own user.
                cp -r /opt/jnvdocker/apt /srv/lab
                chmod -R a+rX /srv/lab
                """);
        shell(apt + "update");
        shell(apt + "install -y --no-install-recommends jnvdocker");
        assertServes();
    }

    @Test
    void unitsOfAnotherInstallationAreNamed() {
        shell(
                "printf '[Service]\\nExecStart=sleep 1000\\n' >"
                        + " /etc/systemd/system/jnvdocker.service");
        Command.Result installed = install("built").ok();
        String advice =
                "the units in /etc/systemd/system run another installation; to run this one: ";
        assertTrue(installed.err().contains(advice), installed::toString);
        int command = installed.err().indexOf(advice) + advice.length();
        shell(installed.err().substring(command, installed.err().indexOf('\n', command)));
        assertServes();
    }

    /** What is printed is all that there is to do, and until then nothing has changed. */
    @Test
    void removalThatIsRefusedChangesNothingAndPrintsEachCommand() {
        install("built").ok();
        String before = settings();
        shell("jnvdocker runtime install; systemctl restart docker");
        String installed = settings();
        shell(
                """
                jnvdocker run --name stopped --gpus device=0 cuda true
                jnvdocker run -d --name running --gpus device=1 --stop-signal KILL cuda sleep 1000
                docker create --name plain cuda true
                docker run -d -e NVIDIA_VISIBLE_DEVICES=void --name restarting --restart always \
                  --stop-signal KILL cuda sleep 1000
                """);
        Command.Result refused = sh("dpkg -r jnvdocker");
        assertNotEquals(0, refused.exitCode());
        assertEquals(installed, settings());
        assertServes();
        assertOpen("running", 1);
        List<String> commands =
                refused.err().lines().filter(line -> line.startsWith("    ")).toList();
        assertEquals(2, commands.size(), refused::toString);
        for (String command : commands) {
            assertEquals(0, sh(command).exitCode(), () -> command + "\n" + refused);
        }
        String removed = shell("dpkg -r jnvdocker").toString();
        assertFalse(removed.contains("apt purge"), removed);
        assertEquals("", shell("ls /etc/jnvdocker/config.d/runtime.toml || true").out());
        // Containers that were made with our runtime are runc's from then on.
        assertFalse(settings().contains("default-runtime"), settings());
        shell("docker start -a plain && docker inspect -f '{{.State.Running}}' restarting");
        shell("docker rm -f plain restarting");
        shell("printf %s '" + before + "' > /etc/docker/daemon.json");
        assertEquals("", shell("ls -d /usr/libexec/jnvdocker-runtime 2> /dev/null || true").out());
        assertEquals("1\n", shell("ls /etc/jnvdocker | grep -c '^config.toml$'").out());
        assertEquals(
                "",
                shell("ls -d /usr/lib/jnvdocker /usr/bin/jnvdocker 2> /dev/null || true").out());
        install("built").ok();
        assertServes();
    }

    /** Otherwise the docker of users would ask for a socket that is gone. */
    @Test
    void linkByWhichLoginsChooseTheProxyGoesWithThePackage() {
        for (String way : List.of("dpkg -i @.deb; dpkg -r jnvdocker", RPM)) {
            String[] commands = way.replace("@", PACKAGES + "built").split("; ");
            shell(commands[0]);
            shell(
                    """
                    getent group gpu-users > /dev/null || groupadd gpu-users
                    mkdir -p /etc/systemd/system/jnvdocker-proxy.socket.d
                    printf '[Socket]\nSocketGroup=gpu-users\n' \
                      > /etc/systemd/system/jnvdocker-proxy.socket.d/group.conf
                    systemctl daemon-reload
                    ln -s /usr/lib/jnvdocker/lib/profile/jnvdocker.sh /etc/profile.d/
                    """);
            assertEquals("none\n", chosen("gpu-users"));
            shell("systemctl enable --now jnvdocker-proxy.socket");
            assertEquals("unix:///run/jnvdocker/docker.sock\n", chosen("gpu-users"));
            assertEquals("none\n", chosen("nogroup"));
            String doctor = sh("jnvdocker gpu doctor").toString();
            assertTrue(doctor.contains("the owners that /run/jnvdocker/docker.sock names"), doctor);
            shell("rm -r /etc/systemd/system/jnvdocker-proxy.socket.d");
            shell(commands[1]);
            assertEquals("", shell("find /etc/profile.d -name 'jnvdocker*'").out());
            assertEquals("none\n", chosen("gpu-users"));
            shell("dpkg --purge jnvdocker");
        }
        shell("rm -rf /var/lib/jnvdocker /run/jnvdocker /run/jnvdocker-again /etc/jnvdocker");
    }

    /** The engine that a login of a user with that group chooses. */
    private static String chosen(String group) {
        return shell(
                        "setpriv --reuid 61001 --regid "
                                + group
                                + " --clear-groups env -u DOCKER_HOST sh -lc"
                                + " 'echo ${DOCKER_HOST:-none}'")
                .out();
    }

    private static String settings() {
        return shell("cat /etc/docker/daemon.json").out();
    }

    @Test
    void hostWithoutDockerIsLeftAsItWas() {
        shell("systemctl stop docker.socket docker; rm -f /run/docker.sock");
        try {
            install("built").ok();
            shell(
                    """
                    jnvdocker runtime install --engine cdi
                    jnvdocker gpu doctor
                    printf '[kubernetes]\nenabled = true\n' > /etc/jnvdocker/config.toml
                    systemctl restart jnvdocker
                    """);
            Lab.await(() -> {
                Command.Result files = sh("ls /etc/cdi/jnvdocker.json /run/cdi/*jnvdocker*");
                return files.exitCode() == 0 ? List.of() : List.of(files.toString());
            });
            shell("dpkg --purge jnvdocker");
            assertNothingIsLeft();
        } finally {
            shell("systemctl start docker.socket docker");
        }
    }

    /** The files of a package, with their modes; zsh has another directory for each kind. */
    private static String installed() {
        return shell(
                        "find /usr/lib/jnvdocker /usr/bin/jnvdocker"
                                + " /usr/lib/systemd/system/jnvdocker* /etc/jnvdocker"
                                + " /usr/share/doc/jnvdocker/examples"
                                + " /usr/share/doc/jnvdocker/THIRD-PARTY-NOTICES*"
                                + " /usr/share/man/man?/jnvdocker*"
                                + " /usr/share/bash-completion/completions/jnvdocker"
                                + " /usr/share/fish/vendor_completions.d/jnvdocker.fish"
                                + " /usr/share/zsh/*/_jnvdocker -printf '%M %s %p %l\\n'"
                                + " | sed 's/site-functions/vendor-completions/' | sort -k3")
                .out();
    }
}
