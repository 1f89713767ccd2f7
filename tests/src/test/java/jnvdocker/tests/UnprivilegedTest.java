package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Registry;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Attacks on the daemon by a user without any rights. */
@Attack(
        by = "any user",
        what = "locks what they can read",
        result = "the daemon starts; one daemon at a time")
@Attack(
        by = "any user",
        what = "serves the socket that root's client connects to",
        result = "refused, with process and uid")
@Attack(
        by = "a member",
        what = "connects and ends; root has a process of that pid when a child sends `gpu run`",
        result =
                "refused: the process that connected has ended; root's process stays in its"
                        + " cgroup")
@Attack(
        by = "a member",
        what = "connects and ends; root has a process of that pid when a child sends `gpu run`",
        result =
                "refused: the process that connected has ended; the process of root stays in its"
                        + " cgroup")
@Attack(
        by = "a member",
        what = "opens 3,000 connections with 60 KB each",
        result = "the daemon lives, and root is answered")
@Attack(
        by = "a member",
        what = "lists 100,000 leases, or does not read what is listed",
        result = "printed whole; no transaction stays open")
class UnprivilegedTest extends OneHostTest {
    private final List<Process> attackers = new ArrayList<>();
    private TestDaemon daemon;

    @BeforeEach
    void startDaemon() {
        daemon = new TestDaemon(host);
        // A test's directory is accessible to root alone, that of a real daemon to everyone.
        Command.of("chmod", "755", directory()).run().ok();
        daemon.config("socket_group = 'nogroup'\n");
        daemon.jnvdocker("gpu", "ls").run().ok();
    }

    @AfterEach
    void end() {
        attackers.forEach(Process::destroyForcibly);
        daemon.close();
    }

    private Path directory() {
        return daemon.socket().getParent().getParent();
    }

    /** Runs a Perl script as the user nobody, until it has printed "ready". */
    private Process asNobody(String script, Object... arguments) throws IOException {
        List<Object> words = new ArrayList<>(List.of("perl", "-we", script));
        words.addAll(List.of(arguments));
        Process attacker = Command.of(words.toArray()).asNobody().start();
        attackers.add(attacker);
        assertEquals("ready", attacker.inputReader().readLine());
        return attacker;
    }

    /**
     * Takes and keeps a read lock, of the kind that SQLite uses, on each file that can be opened.
     */
    private static final String LOCK_ALL =
            """
            use Fcntl;
            $| = 1;
            for my $name (@ARGV) {
              open(my $file, "<", $name) or next;
              my $lock = pack("ssx4qqix4", F_RDLCK, 0, 0, 0, 0);
              fcntl($file, F_SETLK, $lock) or die "$name: $!";
              push @kept, $file;
            }
            print "ready\\n";
            sleep 1000;
            """;

    private List<Path> files(Path directory) {
        try (Stream<Path> all = Files.walk(directory)) {
            return all.filter(file -> !file.startsWith(directory().resolve("host")))
                    .filter(file -> Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void whoLocksWhatHeCanReadKeepsNobodyOut() throws IOException {
        daemon.stop();
        asNobody(LOCK_ALL, files(directory()).toArray());
        daemon.jnvdocker("gpu", "ls").run().ok();
        daemon.jnvdocker("gpu", "history").run().ok();
    }

    /**
     * The files are of an earlier release or a backup, and a user opened them while they were
     * readable.
     */
    @Test
    void whoHasLockedFilesThatWereOpenToHimKeepsNobodyOut() throws IOException {
        daemon.stop();
        Path registry = daemon.state().resolve("registry.db");
        List<Path> locks =
                List.of(
                        daemon.socket().resolveSibling("jnvdockerd.pid"),
                        daemon.state().resolve("volumes/nvidia_driver/.lock"));
        for (Path file : locks) {
            Command.of("chmod", "644", file).run().ok();
        }
        Command.of("rm", "-r", daemon.state().resolve("volumes/nvidia_driver/535.261.03"))
                .run()
                .ok();
        asNobody(LOCK_ALL, locks.toArray());
        Command.of("chmod", "644", registry).run().ok();
        Files.writeString(registry.resolveSibling("registry.db-wal"), "");
        Command.of("chmod", "644", registry + "-wal").run().ok();
        daemon.jnvdocker("gpu", "ls").run().ok();
        assertTrue(Files.exists(daemon.state().resolve("volumes/nvidia_driver/535.261.03")));
        for (Path file : locks) {
            assertEquals("600", mode(file), file::toString);
        }
        for (String part : List.of("", "-wal", "-shm")) {
            assertEquals("600", mode(Path.of(registry + part)), part);
        }
        // Still only one daemon can run.
        assertEquals(125, daemon.jnvdockerd().run().exitCode());
    }

    private static String mode(Path file) {
        return Command.of("stat", "-c", "%a", file).run().ok().out().strip();
    }

    /** Files that other users can read are meant for containers, or reveal nothing. */
    @Test
    void filesAreRootsAlone() {
        List<String> open = new ArrayList<>();
        for (Path file : files(directory())) {
            String name = directory().relativize(file).toString();
            if (!mode(file).equals("600") && !name.contains("/535.261.03/")) {
                open.add(mode(file) + " " + name);
            }
        }
        assertEquals(
                List.of("640 run/jnvdockerd.log", "644 config.toml"),
                open.stream().sorted().toList());
    }

    /** Makes that many connections, and sends all but the end of a long request on each. */
    private static final String FLOOD =
            """
            use IO::Socket::UNIX;
            $| = 1;
            $SIG{PIPE} = "IGNORE";
            my ($path, $count, $size) = @ARGV;
            for (1 .. $count) {
              my $socket = IO::Socket::UNIX->new(Type => SOCK_STREAM, Peer => $path) or die "$!";
              syswrite($socket, "Q" . pack("N", $size) . "\\0" x ($size - 10));
              push @kept, $socket;
            }
            print "ready\\n";
            sleep 1000;
            """;

    @Test
    void thousandsOfLongRequestsOfOthersDisturbNobody() throws IOException {
        long pid = daemon.pid().orElseThrow();
        for (int i = 0; i < 3; i++) {
            asNobody(FLOOD, daemon.socket(), 1000, 60_000);
        }
        daemon.jnvdocker("gpu", "ls").run().ok();
        daemon.jnvdocker("gpu", "leases", "--all").run().ok();
        assertEquals(pid, daemon.pid().orElseThrow());
        assertFalse(log().contains("OutOfMemory"), this::log);
    }

    private String log() {
        try {
            return Files.readString(daemon.log());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Otherwise root's client would do whatever that daemon says. */
    @Test
    void rootObeysNobodysDaemon() throws IOException {
        Path directory = directory().resolve("foreign");
        Command.of("install", "-d", "-o", "65534", directory).run().ok();
        Path socket = directory.resolve("socket");
        asNobody(
                """
                use IO::Socket::UNIX;
                $| = 1;
                my $server = IO::Socket::UNIX->new(
                    Type => SOCK_STREAM, Local => $ARGV[0], Listen => 9) or die "$!";
                print "ready\\n";
                while (my $client = $server->accept()) {
                  syswrite($client, "T" . pack("NN", 4, 7)); # exit with 7
                }
                """,
                socket);
        Command.Result result =
                daemon.jnvdocker("gpu", "ls").with("JNVDOCKER_SOCKET", socket).run();
        assertEquals(125, result.exitCode(), result::toString);
        assertTrue(
                result.err()
                        .matches(
                                "jnvdocker: "
                                        + socket
                                        + " is not served by root but by process [0-9]+ of nobody"
                                        + " \\(uid 65534\\), which could make root run anything;"
                                        + " .*\n"),
                result::toString);
    }

    private static final int LEASES = 60_000;

    /** Writes a history that would take the daemon years. */
    private void fillHistory() {
        Registry registry = new Registry(daemon);
        String numbers =
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
                        + LEASES
                        + ") ";
        String gpu = "'GPU-5c1a0000-1d2c-4e5f-8a9b-012345678900'";
        registry.change(
                "INSERT INTO claim (id, origin, engine, uid, owner, image, created, forgotten) "
                        + numbers
                        + "SELECT format('%012x', i), 'engine', 'e', 1000 + i % 7, 'alice',"
                        + " 'registry.example/image:' || i, 0, 1 FROM n");
        registry.change(
                "INSERT INTO claim_gpu (claim, gpu, position, minor) "
                        + numbers
                        + "SELECT format('%012x', i), "
                        + gpu
                        + ", 0, 0 FROM n");
        registry.change(
                "INSERT INTO lease (claim, holder, boot, pid, start, since, until, evidence) "
                        + numbers
                        + "SELECT format('%012x', i), 'held', 'b', 1, 1, 1700000000000 + i,"
                        + " 1700000100000 + i, 'its first process (pid 4711) is gone' FROM n");
        registry.change(
                "INSERT INTO lease_gpu (lease, gpu, live) SELECT id, " + gpu + ", 0 FROM lease");
    }

    /** The daemon has its usual amount of memory. */
    @Test
    void historyIsPrintedWholeHoweverLongItIs() throws Exception {
        daemon.stop();
        fillHistory();
        daemon.config("socket_group = 'nogroup'\nkeep_history = 'forever'\n");
        daemon.jnvdocker("gpu", "ls").run().ok();
        long pid = daemon.pid().orElseThrow();
        // A client that does not read its output takes no memory or connection from others.
        Process deaf = daemon.jnvdocker("gpu", "leases", "--all", "-n", LEASES).start();
        attackers.add(deaf);
        String[] history = {
            "gpu",
            "history",
            "--gpu",
            "0",
            "-n",
            Integer.toString(LEASES),
            "--since",
            "20000d",
            "--json"
        };
        String json = daemon.jnvdocker((Object[]) history).run().ok().out();
        assertEquals(LEASES, new ObjectMapper().readTree(json).path("leases").size());
        String table = daemon.jnvdocker("gpu", "leases", "--all", "-n", 20_000).run().ok().out();
        List<String> lines = table.lines().toList();
        assertEquals(20_001, lines.size());
        int state = lines.getFirst().indexOf("STATE");
        assertTrue(lines.stream().skip(1).allMatch(line -> line.startsWith("ENDED", state)));
        assertEquals(pid, daemon.pid().orElseThrow());
    }

    /** Otherwise there would be no explanation why the GPU is not given out. */
    @Test
    void clientThatIsStoppedIsNamed() throws Exception {
        Process client = daemon.jnvdocker("gpu", "run", "--gpus", "1", "sleep", "1000").start();
        attackers.add(client);
        while (!daemon.jnvdocker("gpu", "ls").run().ok().out().contains("HELD")) {
            assertTrue(client.isAlive());
        }
        Command.of("kill", "-STOP", client.pid()).run().ok();
        String stopped = "pid " + client.pid() + " is stopped";
        String shown = daemon.jnvdocker("gpu", "ls").run().ok().out();
        assertTrue(shown.contains(stopped), shown);
        String why = daemon.jnvdocker("gpu", "why", "0").run().ok().out();
        assertTrue(
                why.contains("runs, and is stopped: kill -CONT " + client.pid() + " lets it go on"),
                why);
    }

    /** Connects, and ends; a child sends a request over the connection once there is a file. */
    private static final String LEAVE =
            """
            use IO::Socket::UNIX;
            $| = 1;
            my ($path, $directory) = @ARGV;
            sub list { return pack("N(N/a*)*", scalar @_, @_); }
            my $daemon = IO::Socket::UNIX->new(Type => SOCK_STREAM, Peer => $path) or die "$!";
            print "ready\\n";
            if (fork) { exit 0 }
            select(undef, undef, undef, 0.01) until -e "$directory/send";
            my $request = pack("NNN N/a*", 1, 0, 0, "/") . list("docker")
                . list("gpu", "run", "--gpus", "1", "true") . list();
            syswrite($daemon, "Q" . pack("N", length $request) . $request);
            open(my $answer, ">", "$directory/answer.new") or die "$!";
            while (sysread($daemon, my $frame, 4096)) { print $answer $frame }
            close($answer);
            rename("$directory/answer.new", "$directory/answer");
            """;

    /** Starts programs of root until one has that pid, which the kernel can be made to choose. */
    private static final String REUSE =
            """
            while :; do
              echo $(($0 - 1)) > /proc/sys/kernel/ns_last_pid
              sleep 1000 &
              [ $! = $0 ] && echo ready && exit
              kill $!
            done
            """;

    /** Else that process would be moved to another cgroup, and keep the GPU until it ends. */
    @Test
    void aLaterProcessOfAClientsPidGetsNoGpu() throws Exception {
        Path own = directory().resolve("nobodys");
        Command.of("install", "-d", "-o", "65534", own).run().ok();
        Process client = asNobody(LEAVE, daemon.socket(), own);
        long pid = client.pid();
        assertEquals(0, client.waitFor());
        Process reuse = Command.of("sh", "-c", REUSE, pid).start();
        assertEquals("ready", reuse.inputReader().readLine());
        ProcessHandle victim = ProcessHandle.of(pid).orElseThrow();
        try {
            String cgroups = Files.readString(Path.of("/proc/" + pid + "/cgroup"));
            Files.createFile(own.resolve("send"));
            Path answer = own.resolve("answer");
            Lab.await(() -> Files.exists(answer) ? List.of() : List.of("no answer"));
            assertEquals(cgroups, Files.readString(Path.of("/proc/" + pid + "/cgroup")));
            String said = new String(Files.readAllBytes(answer), StandardCharsets.UTF_8);
            assertTrue(
                    said.contains(
                            "jnvdocker: process "
                                    + pid
                                    + ", which connected to jnvdockerd, has ended; "),
                    said);
            String shown = daemon.jnvdocker("gpu", "ls").run().ok().out();
            assertFalse(shown.contains("HELD") || shown.contains("RESERVED"), shown);
        } finally {
            victim.destroyForcibly();
        }
    }
}
