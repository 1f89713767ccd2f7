package jnvdocker.command.job;

import jnvdocker.lease.Owner;
import jnvdocker.posix.ProcessId;
import jnvdocker.words.ForeignText;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * The record of a job, as it is on disk. A component is null as long as it has not come to that.
 *
 * @param id the number that its user types, at least 1
 * @param uid that it runs as
 * @param owner the uid of the user who submitted it, which differs from {@code uid} under sudo
 * @param user that user's name
 * @param submitted when, in ISO 8601
 * @param title its command, shortened for people
 * @param request null once it has ended, since the environment may have secrets
 * @param cancelled whether its end was requested
 * @param launch its unit, the latest if there were several
 * @param refusal the last refusal of a request of its process
 * @param start the moment from which it is not run once more, whatever happens
 */
record Job(
        long id,
        int uid,
        int owner,
        String user,
        String submitted,
        String title,
        Request request,
        boolean cancelled,
        Launch launch,
        String refusal,
        Start start,
        End end) {
    /** Of a refusal, in characters. */
    private static final int LONGEST = 1000;

    /**
     * The command as typed after {@code submit}, and what it was typed in.
     *
     * @param directory the working directory
     * @param environment {@code NAME=VALUE}; a byte that is not UTF-8 is a lone surrogate
     */
    record Request(String directory, List<String> command, List<String> environment) {
        Request {
            command = List.copyOf(command);
            environment = List.copyOf(environment);
        }
    }

    /**
     * The process of its unit.
     *
     * @param boot the boot id under which the process has its number
     * @param startTime as {@link ProcessId} has it
     */
    record Launch(String boot, int pid, long startTime) {
        ProcessId process() {
            return new ProcessId(pid, startTime);
        }
    }

    /**
     * @param claim of its GPUs; null when it has none
     */
    record Start(String at, String claim) {}

    /**
     * @param exitCode null when it is not known, or there was none
     */
    record End(String at, Outcome outcome, Integer exitCode) {}

    /** How a job ends. */
    enum Outcome {
        EXITED("exit code"),
        KILLED("killed by a signal, exit code"),
        CANCELLED("cancelled"),
        REBOOTED("ended by a reboot of the host"),
        STOPPED("its unit was stopped, by systemctl most likely"),
        NO_USER("its user does not exist any more");

        private final String text;

        Outcome(String text) {
            this.text = text;
        }
    }

    /** How far a job has come. */
    enum State {
        WAITING,
        RUNNING,
        ENDED
    }

    Job {
        Instant.parse(submitted);
        if (id < 1 || user == null || title == null || (request == null) != (end != null)) {
            throw new IllegalArgumentException("the record is incomplete");
        }
        if (start != null) {
            Instant.parse(start.at());
        }
        if (end != null) {
            Instant.parse(end.at());
        }
    }

    State state() {
        return end != null ? State.ENDED : start != null ? State.RUNNING : State.WAITING;
    }

    Owner submitter() {
        return new Owner(owner, user);
    }

    /** Its process, if that was launched since the boot of that id. */
    Optional<ProcessId> process(String boot) {
        return Optional.ofNullable(launch)
                .filter(its -> its.boot().equals(boot))
                .map(Launch::process);
    }

    /** How it ended, for people; empty before. */
    Optional<String> ending() {
        return Optional.ofNullable(end)
                .map(its ->
                        its.outcome() == Outcome.EXITED && start == null && refusal != null
                                ? "refused: " + refusal
                                : its.outcome().text
                                        + (its.exitCode() == null
                                                        || its.outcome() == Outcome.CANCELLED
                                                ? ""
                                                : " " + its.exitCode()));
    }

    Job launchedAs(Launch next) {
        return new Job(
                id, uid, owner, user, submitted, title, request, cancelled, next, null, start, end);
    }

    Job refusedAs(String next) {
        return new Job(
                id,
                uid,
                owner,
                user,
                submitted,
                title,
                request,
                cancelled,
                launch,
                ForeignText.cut(next, LONGEST),
                start,
                end);
    }

    Job startedAs(Start next) {
        return new Job(
                id, uid, owner, user, submitted, title, request, cancelled, launch, refusal, next,
                end);
    }

    Job asCancelled() {
        return new Job(
                id, uid, owner, user, submitted, title, request, true, launch, refusal, start, end);
    }

    Job endedAs(End next) {
        return new Job(
                id, uid, owner, user, submitted, title, null, cancelled, launch, refusal, start,
                next);
    }

    /** A copy that takes little memory. */
    Job light() {
        Request none = request == null ? null : new Request("", List.of(), List.of());
        return new Job(
                id, uid, owner, user, submitted, title, none, cancelled, launch, refusal, start,
                end);
    }
}
