package jnvdocker.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import jnr.posix.Group;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/** Queries the real databases, and files of our own in their place. */
class AccountsTest {
    private static final int ROUNDS = 500;
    private static final String LONG = "l".repeat(255);

    @Test
    void missingOnesAreNoFailure() throws PosixException {
        PosixCalls.INSTANCE.errno(Errno.EINVAL);
        assertEquals(Optional.empty(), Accounts.user("no such user"));
        assertEquals(Optional.empty(), Accounts.user(2_000_000_123));
        assertEquals(Optional.empty(), Accounts.user(-1));
        assertEquals(Optional.empty(), Accounts.groupNumber("no such group"));
        assertEquals(Optional.empty(), Accounts.groupNumber(""));
        assertEquals(Optional.empty(), Accounts.groupName(2_000_000_123));
        assertEquals(Optional.empty(), Accounts.user(LONG));
        assertEquals(Optional.empty(), Accounts.groupNumber(LONG));
    }

    /** No signal interrupts a real one at a given moment. */
    @Test
    void interruptedCallIsMadeAgain() throws PosixException {
        AtomicInteger calls = new AtomicInteger();
        Supplier<Group> call =
                () -> {
                    if (calls.incrementAndGet() < 3) {
                        PosixCalls.INSTANCE.errno(Errno.EINTR);
                        return null;
                    }
                    return PosixCalls.INSTANCE.getgrgid(0);
                };
        assertEquals(
                Optional.of("root"), Accounts.entry(this, call, Group::getName, () -> "group 0"));
        assertEquals(3, calls.get());
    }

    @Test
    void failureHasItsCodeAndValue() {
        Supplier<Group> call =
                () -> {
                    PosixCalls.INSTANCE.errno(Errno.ENODEV);
                    return null;
                };
        var e =
                assertThrows(
                        PosixException.class,
                        () -> Accounts.entry(this, call, Group::getName, () -> "getgrgid 7"));
        assertEquals("getgrgid 7: No such device", e.getMessage());
    }

    @Test
    void bothWaysLeadToTheSame() throws PosixException {
        assertEquals(Optional.of(new Accounts.User("root", 0, 0)), Accounts.user(0));
        assertEquals(Accounts.user(0), Accounts.user("root"));
        assertEquals(Optional.of("root"), Accounts.groupName(0));
        assertEquals(Optional.of(0), Accounts.groupNumber("root"));
    }

    /** As the files have it, which other sources of names do not change. */
    @Test
    void eachThreadGetsItsOwnAnswer() throws Exception {
        List<String[]> users = lines(Path.of("/etc/passwd"));
        List<String[]> groups = lines(Path.of("/etc/group"));
        List<Callable<Void>> tasks = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            String[] user = users.get(i % users.size());
            String[] group = groups.get(i % groups.size());
            tasks.add(() -> {
                for (int round = 0; round < ROUNDS; round++) {
                    assertEquals(user[0], Accounts.user(Integer.parseInt(user[2])).get().name());
                    assertEquals(user[2], Accounts.user(user[0]).get().uid() + "");
                    assertEquals(
                            Optional.of(group[0]), Accounts.groupName(Integer.parseInt(group[2])));
                    assertEquals(
                            Optional.of(Integer.valueOf(group[2])), Accounts.groupNumber(group[0]));
                }
                return null;
            });
        }
        try (ExecutorService threads = Executors.newFixedThreadPool(tasks.size())) {
            for (Future<Void> each : threads.invokeAll(tasks)) {
                each.get();
            }
        }
    }

    private static List<String[]> lines(Path file) throws IOException {
        return Files.readAllLines(file).stream().map(line -> line.split(":")).toList();
    }

    private static final int GROUPS = 65_534;

    /** Larger than an int of Java's can say. */
    private static final int MANY = (int) 4_000_000_000L;

    /** The files of a host with one user in as many groups as a process can be in. */
    private static final String SCRIPT =
            """
            mount --bind "$1/passwd" /etc/passwd
            mount --bind "$1/group" /etc/group
            mount --bind "$1/nsswitch.conf" /etc/nsswitch.conf
            exec "$2" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC --enable-native-access=ALL-UNNAMED \\
              -Djnr.ffi.asm.enabled=false -Djnr.ffi.compile.enabled=false -cp "$3" \\
              jnvdocker.posix.AccountsTest
            """;

    /** Runs in the mount namespace. */
    public static void main(String[] arguments) throws Exception {
        System.out.println(Accounts.user(MANY));
        System.out.println(Accounts.user(LONG));
        System.out.println(Accounts.groupName(100_001));
        for (String group : List.of(LONG, "g2", "g" + GROUPS, "other")) {
            System.out.println(
                    HostNames.ofThisHost()
                            .groupsOf(MANY, Set.of(group), HostNames.LONGEST.multipliedBy(6))
                            .size());
        }
    }

    @Test
    @Tag("root")
    void userMayBeInAsManyGroupsAsTheKernelAllows(@TempDir Path etc) throws Exception {
        Files.writeString(etc.resolve("nsswitch.conf"), "passwd: files\ngroup: files\n");
        Files.writeString(
                etc.resolve("passwd"),
                LONG + ":x:4000000000:100001:" + "c".repeat(5000) + ":/:/bin/sh\n");
        List<String> groups = new ArrayList<>(List.of(LONG + ":x:100001:"));
        IntStream.rangeClosed(2, GROUPS)
                .mapToObj(i -> "g" + i + ":x:" + (100_000 + i) + ":root," + LONG)
                .forEach(groups::add);
        groups.add("other:x:200000:root");
        Files.write(etc.resolve("group"), groups);
        Process java =
                new ProcessBuilder(
                                "unshare",
                                "--mount",
                                "sh",
                                "-ec",
                                SCRIPT,
                                "sh",
                                etc.toString(),
                                System.getProperty("java.home") + "/bin/java",
                                System.getProperty("java.class.path"))
                        .redirectErrorStream(true)
                        .start();
        String out = new String(java.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, java.waitFor(), out);
        Accounts.User many = new Accounts.User(LONG, MANY, 100_001);
        assertEquals(
                List.of(
                        Optional.of(many).toString(),
                        Optional.of(many).toString(),
                        Optional.of(LONG).toString(),
                        "1",
                        "1",
                        "1",
                        "0"),
                out.lines().toList());
    }
}
