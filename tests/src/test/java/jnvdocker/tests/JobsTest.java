package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.TestMachine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

/** Commands that wait in units of a real systemd. */
@Tag("docker")
@Tag("root")
class JobsTest {
    private static final String SERVICE = "jnvdocker.service";
    private static final String JNVDOCKER = "/opt/jnvdocker/bin/jnvdocker";

    private static DriverRoot host;
    private static TestMachine machine;

    @BeforeAll
    static void bootMachine() {
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535).slim();
        machine = new TestMachine(host);
        shell(
                """
                cp /opt/jnvdocker/lib/systemd/system/jnvdocker* /etc/systemd/system/
                systemctl daemon-reload
                systemctl enable --now jnvdocker.socket jnvdocker.service jnvdocker-nodes.service
                systemctl enable --now docker.service
                mkdir -p /var/log/journal
                systemctl restart systemd-journald
                useradd -m -G docker carol
                useradd -m -G docker dave
                systemctl restart jnvdocker.service
                """);
        machine.image("cuda", "--label", "com.nvidia.volumes.needed=nvidia_driver");
    }

    @AfterAll
    static void removeMachine() {
        machine.close();
        host.close();
    }

    @BeforeEach
    void endAll() {
        shell(
                """
                for job in $(/opt/jnvdocker/bin/jnvdocker gpu jobs | sed -n 's/^\\([0-9]\\+\\) .*/\\1/p'); do
                  /opt/jnvdocker/bin/jnvdocker gpu cancel $job || true
                done
                docker ps -aq | xargs -r docker rm -f
                """);
        Lab.await(() -> waiting().isEmpty() ? List.of() : List.of("jobs wait: " + waiting()));
    }

    private static Command.Result shell(String script) {
        return machine.command("sh", "-ec", script).run().ok();
    }

    /** A command of a user, in the user's home. */
    private static Command as(String user, Object... words) {
        List<Object> all =
                new ArrayList<>(
                        List.of(
                                "runuser",
                                "-u",
                                user,
                                "--",
                                "env",
                                "-C",
                                "/home/" + user,
                                "PATH=/usr/bin:/bin"));
        all.addAll(List.of(words));
        return machine.command(all.toArray());
    }

    private static long submit(Command command) {
        return Long.parseLong(command.run().ok().out().strip());
    }

    private static long submit(String user, Object... words) {
        List<Object> all = new ArrayList<>(List.of(JNVDOCKER, "gpu", "submit", "--"));
        all.addAll(List.of(words));
        return submit(as(user, all.toArray()));
    }

    private static void hold() {
        machine.jnvdocker("run", "-d", "--name=holder", "--gpus=all", "cuda", "sleep", "1000")
                .run()
                .ok();
    }

    private static void free() {
        shell("docker rm -f holder");
    }

    private static JsonNode job(long id) {
        for (JsonNode job : machine.jnvdocker("gpu", "jobs", "--all", "--json").run().json()) {
            if (job.path("job").asLong() == id) {
                return job;
            }
        }
        throw new AssertionError("job " + id + " is forgotten");
    }

    private static void await(long id, String key, String value) {
        Lab.await(() ->
                job(id).path(key).asText().equals(value)
                        ? List.of()
                        : List.of(job(id) + "\n" + log(id)));
    }

    private static void awaitWaiting(long id) {
        String unit = unit(id);
        Lab.await(() ->
                waiting().contains(machine.property(unit, "MainPID"))
                        ? List.of()
                        : List.of(job(id) + " is not in the queue: " + waiting() + log(id)));
        assertEquals("waiting", job(id).path("state").asText());
    }

    private static String unit(long id) {
        return "jnvdocker-job-" + id + ".service";
    }

    private static String log(long id) {
        return machine.journal(unit(id));
    }

    /** The pids of those who wait. */
    private static List<String> waiting() {
        List<String> pids = new ArrayList<>();
        machine.jnvdocker("gpu", "queue", "--json")
                .run()
                .ok()
                .json()
                .forEach(each -> pids.add(each.path("pid").asText()));
        return pids;
    }

    @Test
    void jobRunsAsItsUserOnceThereAreGpus() {
        hold();
        shell("install -d -o carol '/home/carol/a $b %n'");
        String script = "id -un; id -nG; pwd; echo \"$SECRET\"; printf '<%s>' \"$@\"; exit 7";
        Command command =
                machine.command(
                        "runuser",
                        "-u",
                        "carol",
                        "--",
                        "env",
                        "-C",
                        "/home/carol/a $b %n",
                        "SECRET=s3 $HOME %n;\n'x' \"y\"",
                        JNVDOCKER,
                        "gpu",
                        "submit",
                        "--",
                        "gpu",
                        "run",
                        "--",
                        "sh",
                        "-c",
                        script,
                        "sh",
                        "$HOME",
                        "%n %%",
                        ";",
                        "");
        long id = submit(command);
        awaitWaiting(id);
        String pid = machine.property(unit(id), "MainPID");
        JsonNode place = machine.jnvdocker("gpu", "queue", "--json").run().ok().json().path(0);
        assertEquals("carol sh", text(place, "user", "command"));
        String shown = machine.command("systemctl", "show", unit(id)).run().ok().out();
        assertFalse(shown.contains("s3 "), shown);
        assertFalse(shown.contains("exit 7"), shown);
        assertEquals(
                "600 root\n",
                shell("stat -c '%a %U' /var/lib/jnvdocker/jobs/" + id + ".json").out());
        assertEquals(
                "no job waits or runs\n", as("dave", JNVDOCKER, "gpu", "jobs").run().ok().out());
        Command.Result foreign = as("dave", JNVDOCKER, "gpu", "cancel", id).run();
        assertEquals(125, foreign.exitCode(), foreign::toString);

        machine.command("systemctl", "restart", SERVICE).run().ok();
        awaitWaiting(id);
        assertFalse(
                machine.journal(SERVICE).contains("WARN JobCommands - job " + id),
                () -> machine.journal(SERVICE));
        machine.command("systemctl", "kill", "--signal=KILL", SERVICE).run().ok();
        Lab.await(() ->
                machine.jnvdocker("gpu", "ls").run().exitCode() == 0
                        ? List.of()
                        : List.of("no daemon"));
        awaitWaiting(id);
        assertEquals(pid, machine.property(unit(id), "MainPID"));

        free();
        await(id, "state", "ended");
        JsonNode ended = job(id);
        assertEquals("7 exited carol", text(ended, "exit_code", "outcome", "user"));
        String log = as("carol", "journalctl", "-q", "-o", "cat", "-u", unit(id)).run().ok().out();
        assertTrue(log.contains("\ncarol\ncarol docker\n/home/carol/a $b %n\ns3 $HOME %n;\n"), log);
        assertTrue(log.contains("<$HOME><%n %%><;><>"), log);
        assertFalse(shell("cat /var/lib/jnvdocker/jobs/" + id + ".json").out().contains("s3 "));
        assertEquals("not-found", machine.property(unit(id), "LoadState"));
    }

    private static String text(JsonNode job, String... keys) {
        return String.join(" ", List.of(keys).stream().map(key -> job.path(key).asText()).toList());
    }

    @Test
    void containersExitCodeIsTheJobs() {
        long id = submit("carol", "run", "--rm", "--gpus=1", "cuda", "sh", "-c", "echo in; exit 3");
        await(id, "state", "ended");
        assertEquals(
                "run --rm --gpus=1 cuda sh -c 'echo in; exit 3' 3 exited",
                text(job(id), "command", "exit_code", "outcome"));
        assertTrue(log(id).endsWith("in\n"), log(id));
        long absent = submit("carol", "gpu", "run", "--", "no-such-program");
        await(absent, "exit_code", "127");
        String decisions =
                machine.command("journalctl", "-q", "-o", "cat", "JNVDOCKER_DECISION=ended")
                        .run()
                        .ok()
                        .out();
        assertTrue(decisions.contains("job " + id + " of carol has ended after "), decisions);
    }

    @Test
    void cancelledJobLeavesTheQueueOrIsStoppedWithItsContainer() {
        hold();
        long waits = submit("carol", "run", "--rm", "--name=late", "--gpus=1", "cuda", "true");
        awaitWaiting(waits);
        String why = as("carol", JNVDOCKER, "gpu", "why", "late").run().ok().out();
        assertTrue(why.startsWith("carol has waited for 1 GPU since "), why);
        Command.Result uninstall = machine.jnvdocker("gpu", "uninstall").run();
        assertTrue(
                uninstall.err().contains("  job " + waits + " has not ended:\n"),
                uninstall::toString);
        assertEquals(
                "cancelled job " + waits + "\n",
                as("carol", JNVDOCKER, "gpu", "cancel", "late").run().ok().out());
        Lab.await(() -> waiting().isEmpty() ? List.of() : List.of("it is in the queue"));
        await(waits, "outcome", "cancelled");
        free();
        long runs =
                submit("carol", "run", "--rm", "--name=victim", "--gpus=1", "cuda", "sleep", "900");
        await(runs, "state", "running");
        Lab.await(() ->
                machine.jnvdocker("gpu", "ls").run().out().contains("victim")
                        ? List.of()
                        : List.of("it does not run"));
        Command.Result none = as("carol", JNVDOCKER, "gpu", "cancel", "other").run();
        assertTrue(
                none.err()
                        .contains(
                                "none of your jobs holds GPUs, or waits for them, under the name"
                                        + " 'other'"),
                none::toString);
        assertEquals(125, as("dave", JNVDOCKER, "gpu", "cancel", "victim").run().exitCode());
        as("carol", JNVDOCKER, "gpu", "cancel", "victim").run().ok();
        await(runs, "outcome", "cancelled");
        Lab.await(() ->
                shell("docker ps -aq").out().isEmpty()
                        ? List.of()
                        : List.of("its container is there"));
        Command.Result again = machine.jnvdocker("gpu", "cancel", runs).run();
        assertTrue(again.err().contains("job " + runs + " has ended: cancelled"), again::toString);
    }

    /** Each start of such a container has a claim of its own. */
    @Test
    void cancelledJobIsStoppedWithItsContainerOfTheOciRuntime() {
        machine.jnvdocker("runtime", "install").run().ok();
        shell("systemctl restart docker");
        try {
            for (String word : List.of("victim", "")) {
                long id =
                        submit(
                                "carol",
                                "run",
                                "--rm",
                                "--name=victim",
                                "--gpus=1",
                                "cuda",
                                "sleep",
                                "900");
                Lab.await(
                        () -> held("victim") ? List.of() : List.of("it does not run: " + log(id)));
                // A restart is a start, too.
                shell("docker restart -t 0 victim");
                Lab.await(() -> held("victim") ? List.of() : List.of("it is not restarted"));
                assertEquals("running", job(id).path("state").asText());
                as("carol", JNVDOCKER, "gpu", "cancel", word.isEmpty() ? id : word).run().ok();
                await(id, "outcome", "cancelled");
                Lab.await(() ->
                        shell("docker ps -aq").out().isEmpty()
                                ? List.of()
                                : List.of("its container is there"));
            }
        } finally {
            shell("docker ps -aq | xargs -r docker rm -f");
            machine.jnvdocker("runtime", "uninstall").run().ok();
            shell("systemctl restart docker");
            machine.jnvdocker("runtime", "uninstall").run().ok();
        }
    }

    private static boolean held(String container) {
        for (JsonNode lease : machine.jnvdocker("gpu", "leases", "--json").run().ok().json()) {
            if (lease.path("container_name").asText().equals(container)
                    && lease.path("state").asText().equals("held")) {
                return true;
            }
        }
        return false;
    }

    @Test
    void rebootStartsWhatWaitsAndEndsWhatRuns() {
        long runs =
                submit(
                        "carol",
                        "gpu",
                        "run",
                        "--gpus=all",
                        "--",
                        "sh",
                        "-c",
                        "echo >> a; sleep 900");
        await(runs, "state", "running");
        Object[] container = {
            "run",
            "--rm",
            "--gpus=1",
            "-v=/home/carol:/b",
            "cuda",
            "sh",
            "-c",
            "echo >> /b/b; sleep 900"
        };
        long waits = submit("carol", container);
        awaitWaiting(waits);
        shell("useradd -m -G docker erin");
        long lost = submit("erin", "gpu", "run", "--", "true");
        awaitWaiting(lost);
        shell("userdel --force erin 2>/dev/null || true; ! id erin 2>/dev/null");
        machine.boot();
        await(lost, "outcome", "no_user");
        await(waits, "state", "running");
        assertEquals("ended rebooted", text(job(runs), "state", "outcome"));
        Lab.await(() ->
                shell("cat /home/carol/b | wc -l").out().equals("1\n")
                        ? List.of()
                        : List.of("it does not run"));
        assertEquals("1\n", shell("cat /home/carol/a | wc -l").out());
    }

    @Test
    void noJobIsLostOrRunsTwiceWhenTheDaemonIsKilled() {
        List<Long> ids = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            int wait = i;
            Lab.await(() ->
                    machine.jnvdocker("gpu", "ls").run().exitCode() == 0
                            ? List.of()
                            : List.of("no daemon"));
            ids.add(submit("carol", "gpu", "run", "--", "sh", "-c", "echo $JNVDOCKER_JOB >> once"));
            shell(
                    "systemctl reset-failed jnvdocker.service; sleep 0.%02d; systemctl kill"
                                    .formatted(wait * 12)
                            + " --signal=KILL jnvdocker.service");
        }
        ids.forEach(id -> await(id, "state", "ended"));
        String expected = String.join("\n", ids.stream().map(String::valueOf).toList()) + "\n";
        assertEquals(
                expected,
                shell("sort -n /home/carol/once").out(),
                () -> as("carol", JNVDOCKER, "gpu", "jobs", "--all", "--json").run().out());
    }

    @Test
    void recordThatCannotBeReadIsNamedAndItsNumberNotUsed() {
        long before = submit("carol", "gpu", "run", "--", "true");
        await(before, "state", "ended");
        long bad = before + 5;
        shell("echo '{\"id\":7}{' > /var/lib/jnvdocker/jobs/" + bad + ".json");
        machine.command("systemctl", "restart", SERVICE).run().ok();
        Command.Result result = machine.jnvdocker("gpu", "jobs").run();
        assertEquals(1, result.exitCode(), result::toString);
        assertEquals(
                "jnvdocker: job "
                        + bad
                        + ": cannot read /var/lib/jnvdocker/jobs/"
                        + bad
                        + ".json: it is no record of a job; restore it, or delete it to forget the"
                        + " job\n",
                result.err());
        assertEquals(bad + 1, submit("carol", "gpu", "run", "--", "true"));
        shell("rm /var/lib/jnvdocker/jobs/" + bad + ".json");
        machine.command("systemctl", "restart", SERVICE).run().ok();
    }

    @Test
    void oldestOfManyEndedJobsAreForgotten() {
        long first = submit("dave", "gpu", "run", "--", "true");
        await(first, "state", "ended");
        long last = first + 120;
        shell(
                """
                cd /var/lib/jnvdocker/jobs
                for i in $(seq %d %d); do sed 's/"id":%d,/"id":'$i',/' %d.json > $i.json; done
                systemctl restart jnvdocker.service
                """
                        .formatted(first + 1, last, first, first));
        Lab.await(() -> {
            JsonNode jobs =
                    as("dave", JNVDOCKER, "gpu", "jobs", "--all", "--json").run().ok().json();
            boolean isRight = jobs.size() == 100 && jobs.path(0).path("job").asLong() == last - 99;
            return isRight ? List.of() : List.of(jobs.size() + " jobs are kept");
        });
        assertEquals(last + 1, submit("dave", "gpu", "run", "--", "true"));
    }

    @Test
    void rootsJobIsTheUsersWhoCalledSudo() {
        hold();
        long id = submit(machine.jnvdocker("gpu", "submit", "gpu", "run", "sh", "-c", "id -un"));
        long sudo =
                submit(
                        machine.command(
                                "env",
                                "SUDO_UID=" + shell("id -u dave").out().strip(),
                                JNVDOCKER,
                                "gpu",
                                "submit",
                                "gpu",
                                "run",
                                "sh",
                                "-c",
                                "id -un"));
        awaitWaiting(id);
        awaitWaiting(sudo);
        JsonNode queue = machine.jnvdocker("gpu", "queue", "--json").run().ok().json();
        assertEquals(List.of("root", "dave"), queue.findValuesAsText("user"));
        assertEquals(
                "root dave", job(id).path("user").asText() + " " + job(sudo).path("user").asText());
        free();
        await(sudo, "exit_code", "0");
        assertTrue(log(sudo).endsWith("root\n"), log(sudo));
    }

    /** A unit has no login: without a login uid, a job may make itself any user's. */
    @Test
    void jobHasItsUsersLoginUidAndGainsNothingByAnother() {
        String carol = shell("id -u carol").out().strip();
        as(
                        "carol",
                        JNVDOCKER,
                        "run",
                        "-d",
                        "--name=hers",
                        "--gpus=device=0",
                        "cuda",
                        "sleep",
                        "1000")
                .run()
                .ok();
        long hers = submit("carol", "gpu", "run", "--gpus=all", "true");
        awaitWaiting(hers);
        String script =
                """
                cat /proc/self/loginuid; echo
                { echo %1$s > /proc/self/loginuid; } 2> /dev/null && echo written
                %2$s gpu run --gpus=with=hers true; echo with $?
                %2$s gpu cancel %3$d; echo cancel $?
                %2$s gpu release hers --force --reason=mine; echo release $?
                %2$s gpu extend hers 1h; echo extend $?
                %2$s gpu submit -- run --rm -it cuda true; echo submit $?
                """
                        .formatted(carol, JNVDOCKER, hers);
        long his = submit("dave", "gpu", "run", "--gpus=device=3", "--", "sh", "-c", script);
        await(his, "state", "ended");
        String said = log(his);
        assertTrue(said.contains(shell("id -u dave").out().strip() + "\n"), said);
        assertFalse(said.contains("written"), said);
        for (String tried : List.of("with", "cancel", "release", "extend", "submit")) {
            assertTrue(said.contains(tried + " 125\n"), said);
        }
        assertEquals("waiting", job(hers).path("state").asText());
        assertEquals("true", shell("docker inspect -f '{{.State.Running}}' hers").out().strip());
    }

    @Test
    void jobThatIsRefusedSaysWhy() {
        long id = submit("carol", "gpu", "run", "--gpus=device=77", "--", "true");
        await(id, "state", "ended");
        String note = job(id).path("note").asText();
        assertTrue(note.startsWith("refused: ") && note.contains("77"), note);
    }

    @Test
    void commandThatDockerCannotReadIsNoJob() {
        Command.Result refused =
                as(
                                "carol", JNVDOCKER, "gpu", "submit", "--", "run", "--gpuss", "99",
                                "plain", "true")
                        .run();
        assertEquals(125, refused.exitCode(), refused::toString);
        assertTrue(
                refused.err().contains("it has an option that docker does not know, or no image"),
                refused::toString);
    }

    /** As if the disk were full. */
    @Test
    void jobWhoseStartCannotBeRecordedDoesNotRun() {
        hold();
        long id = submit("carol", "gpu", "run", "--", "sh", "-c", "echo it runs");
        awaitWaiting(id);
        String jobs = "/var/lib/jnvdocker/jobs";
        shell("mount --bind " + jobs + " " + jobs + "; mount -o remount,bind,ro " + jobs);
        try {
            Command.Result refused =
                    as("carol", JNVDOCKER, "gpu", "submit", "gpu", "run", "true").run();
            assertEquals(125, refused.exitCode(), refused::toString);
            assertTrue(refused.err().contains("Read-only file system"), refused::toString);
            free();
            Lab.await(() ->
                    job(id).path("note").asText().contains("Read-only file system")
                            ? List.of()
                            : List.of(job(id) + log(id)));
        } finally {
            shell("umount " + jobs);
        }
        await(id, "exit_code", "125");
        assertTrue(job(id).path("started").isNull());
        assertTrue(log(id).contains("Read-only file system"), log(id));
        assertFalse(log(id).contains("it runs"), log(id));
    }

    @Test
    void jobsOfOneUserAreLimited() {
        hold();
        String many =
                "for i in $(seq 65); do "
                        + JNVDOCKER
                        + " gpu submit -- gpu run true 2>&1 >/dev/null || exit; done";
        Command.Result result = as("dave", "sh", "-c", many).run();
        assertEquals(125, result.exitCode(), result::toString);
        assertTrue(
                result.out()
                        .endsWith(
                                "jnvdocker: you have 64 jobs that have not ended, the most for one"
                                        + " user; submit more when some have ended, or cancel some"
                                        + " with 'jnvdocker gpu cancel'\n"),
                result::toString);
        submit("carol", "gpu", "run", "true");
    }

    @Test
    void whatCannotBeAJobIsRefused() {
        for (List<String> words :
                List.of(
                        List.of("run", "-it", "cuda"),
                        List.of("run", "--tty", "cuda"),
                        List.of("create", "cuda"),
                        List.of("gpu", "ls"),
                        List.of("run"))) {
            List<Object> all = new ArrayList<>(List.of(JNVDOCKER, "gpu", "submit", "--"));
            all.addAll(words);
            Command.Result result = as("carol", all.toArray()).run();
            assertEquals(125, result.exitCode(), result::toString);
            assertEquals("", result.out());
            assertNotEquals("", result.err());
        }
        Command.Result large =
                as(
                                "carol",
                                "env",
                                "D=" + "d".repeat(99_999),
                                "E=" + "e".repeat(99_999),
                                "F=" + "f".repeat(99_999),
                                JNVDOCKER,
                                "gpu",
                                "submit",
                                "gpu",
                                "run",
                                "true")
                        .run();
        assertTrue(large.err().startsWith("jnvdocker: the variables have "), large::toString);
        shell("mv /run/systemd/system /run/systemd/away");
        try {
            Command.Result result =
                    as("carol", JNVDOCKER, "gpu", "submit", "gpu", "run", "true").run();
            assertEquals(125, result.exitCode(), result::toString);
            assertEquals(
                    "jnvdocker: jobs are run by systemd, which does not run here; wait without it:"
                            + " nohup jnvdocker run --gpu-wait … &\n",
                    result.err().replace("...", "…"));
        } finally {
            shell("mv /run/systemd/away /run/systemd/system");
        }
        Command.Result launch = as("carol", JNVDOCKER, "gpu", "__job", "1").run();
        assertTrue(
                launch.err().startsWith("jnvdocker: this process is not to run job 1"),
                launch::toString);
    }
}
