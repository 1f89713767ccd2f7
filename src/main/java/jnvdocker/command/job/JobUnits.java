package jnvdocker.command.job;

import jnvdocker.posix.ProcessId;
import jnvdocker.process.ShortProcess;
import jnvdocker.words.FailedException;
import jnvdocker.words.Quote;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The units of jobs: systemd is the one source for which of them run, and how they ended. A unit
 * stays until its outcome was read ({@code RemainAfterExit}), and its command line has nothing of
 * the user's in it: everybody may read that.
 */
final class JobUnits {
    /** See sd_booted(3). */
    private static final Path BOOTED = Path.of("/run/systemd/system");

    /** The time between SIGTERM and SIGKILL, by which a shutdown may be delayed, too. */
    private static final int STOP_SECONDS = 30;

    private static final Duration LIMIT = Duration.ofSeconds(10);
    private static final String PREFIX = "jnvdocker-job-";
    private static final String SUFFIX = ".service";
    private static final String PROPERTIES =
            "Id,LoadState,ActiveState,SubState,ExecMainCode,ExecMainStatus";
    private static final String STANDARD_SOCKET = "/run/jnvdocker/jnvdocker.sock";

    /**
     * Becomes a program as another user: the uid, the login uid, the program. Only a process itself
     * can set its login uid, and with an unset one, any user could set any. systemd would expand
     * variables in braces.
     */
    private static final String BECOME =
            "{ echo \"$1\" > /proc/self/loginuid; } 2> /dev/null;"
                    + " gid=$(getent passwd \"$0\" | cut -d : -f 4);"
                    + " test -n \"$gid\" || exit "
                    + JobStep.NO_USER
                    + "; uid=$0; shift;"
                    + " exec setpriv --reuid=\"$uid\" --regid=\"$gid\" --init-groups -- \"$@\"";

    private final Path client;
    private final Path socket;

    /**
     * @param client our program for users
     * @param socket of the daemon
     */
    JobUnits(Path client, Path socket) {
        this.client = client;
        this.socket = socket;
    }

    /**
     * A unit, as {@code systemctl show} prints it.
     *
     * @param code how its process ended: 0 for not, 1 for an exit, else by a signal
     * @param status the exit code, or the number of the signal
     */
    record Unit(String load, String active, String sub, int code, int status) {
        /** Whether it runs, or is about to: systemd keeps no other units that are inactive. */
        boolean runs() {
            return load.equals("loaded") && !hasEnded();
        }

        boolean hasEnded() {
            return active.equals("failed")
                    || active.equals("active") && sub.equals("exited")
                    || active.equals("inactive") && code != 0;
        }
    }

    boolean isSystemdThere() {
        return Files.isDirectory(BOOTED);
    }

    Path client() {
        return client;
    }

    static String name(long id) {
        return PREFIX + id + SUFFIX;
    }

    /**
     * Starts the unit of a job, in the slice of its user; it then requests its command from us. Its
     * login uid is the user who submitted the job, as after a login.
     *
     * @throws IOException when systemd does not, such as for a unit that is there already
     */
    void start(Job job) throws IOException {
        List<String> words =
                new ArrayList<>(
                        List.of(
                                "systemd-run",
                                "--quiet",
                                "--no-block",
                                "--no-ask-password",
                                "--unit=" + name(job.id()),
                                "--description=Job " + job.id() + " of jnvdocker",
                                "--slice=user-" + Integer.toUnsignedString(job.uid()) + ".slice",
                                "--property=RemainAfterExit=yes",
                                "--property=TimeoutStopSec=" + STOP_SECONDS,
                                // Else one that is started at boot would not find its engine.
                                "--property=After=docker.service",
                                "--property=SyslogIdentifier=" + PREFIX + job.id(),
                                "--setenv=" + GpuSubmit.JOB + "=" + job.id()));
        if (!socket.toString().equals(STANDARD_SOCKET)) {
            words.add("--setenv=JNVDOCKER_SOCKET=" + socket);
        }
        words.addAll(List.of("--", "/bin/sh", "-c", BECOME));
        words.add(Integer.toUnsignedString(job.uid()));
        words.add(Integer.toUnsignedString(job.owner()));
        words.addAll(List.of(client.toString(), "gpu", JobCommands.LAUNCH));
        words.add(String.valueOf(job.id()));
        ShortProcess.Result result = ShortProcess.run(new ProcessBuilder(words), LIMIT);
        if (result.exitCode() != 0) {
            throw new FailedException(
                    "systemd does not start " + name(job.id()) + ": " + shown(result),
                    "see 'systemctl status " + name(job.id()) + "'");
        }
    }

    /** Returns the unit of each of these jobs. */
    Map<Long, Unit> show(Collection<Long> ids) throws IOException {
        Map<Long, Unit> units = parse(systemctl(Stream.of("show", "-p", PROPERTIES), ids));
        if (!units.keySet().containsAll(ids)) {
            throw new IOException("systemctl show leaves out units");
        }
        return units;
    }

    /** Parses what systemctl shows of units, with a blank line between them. */
    static Map<Long, Unit> parse(String shown) throws IOException {
        Map<Long, Unit> units = new HashMap<>();
        for (String block : shown.strip().split("\n\n+")) {
            Map<String, String> of = new HashMap<>();
            block.lines()
                    .map(line -> line.split("=", 2))
                    .filter(parts -> parts.length == 2)
                    .forEach(parts -> of.put(parts[0], parts[1]));
            try {
                String id = of.getOrDefault("Id", "").replace(PREFIX, "").replace(SUFFIX, "");
                units.put(
                        Long.valueOf(id),
                        new Unit(
                                of.getOrDefault("LoadState", ""),
                                of.getOrDefault("ActiveState", ""),
                                of.getOrDefault("SubState", ""),
                                Integer.parseInt(of.getOrDefault("ExecMainCode", "")),
                                Integer.parseInt(of.getOrDefault("ExecMainStatus", ""))));
            } catch (NumberFormatException e) {
                throw new IOException("systemctl show prints " + Quote.quoted(block), e);
            }
        }
        return units;
    }

    /** Whether the host is shutting down, which ends units. */
    boolean areEnding() throws IOException {
        return systemctl(Stream.of("show", "-p", "SystemState"), List.of()).contains("=stopping");
    }

    /** Has units stopped, with all their processes; does not wait for it. */
    void stop(Collection<Long> ids) throws IOException {
        systemctl(Stream.of("stop", "--no-block"), ids);
    }

    /** Has systemd forget units that have ended. */
    void discard(Collection<Long> ids) throws IOException {
        if (!ids.isEmpty()) {
            stop(ids);
            systemctl(Stream.of("reset-failed"), ids);
        }
    }

    /** A unit that is not there is no failure. */
    private static String systemctl(Stream<String> words, Collection<Long> ids) throws IOException {
        List<String> command =
                Stream.of(Stream.of("systemctl"), words, ids.stream().map(JobUnits::name))
                        .flatMap(each -> each)
                        .toList();
        ShortProcess.Result result = ShortProcess.run(new ProcessBuilder(command), LIMIT);
        boolean queries = command.get(1).equals("show");
        if (queries && result.exitCode() != 0) {
            throw new IOException("systemctl show: " + shown(result));
        }
        return result.output();
    }

    private static String shown(ShortProcess.Result result) {
        return Quote.shown(result.output().strip());
    }

    /**
     * Whether a process is the one of a job's unit, by systemd's own word: a user's own manager can
     * make cgroups of any name.
     *
     * @param process must be alive afterwards, or another has its number
     */
    boolean isMain(ProcessId process, long id) throws IOException {
        return systemctl(Stream.of("show", "-p", "MainPID"), List.of(id))
                .strip()
                .equals("MainPID=" + process.pid());
    }
}
