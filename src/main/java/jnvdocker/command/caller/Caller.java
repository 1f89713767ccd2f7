package jnvdocker.command.caller;

import jnvdocker.lease.Owner;
import jnvdocker.lease.text.Owners;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.Processes;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;
import jnvdocker.words.ShellWord;

import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Collectors;

/** The user who runs a command, as the kernel reports it, and sudo if that is root. */
public final class Caller {
    private static final Processes PROCESSES = Processes.ofThisMachine();

    private Caller() {}

    /** Whether the command runs with root's rights, no matter which user typed it. */
    public static boolean isRoot(ClientRequest request) {
        return request.peer().uid() == 0;
    }

    /**
     * @param what the action that takes root's rights: {@code prune volumes}
     * @throws RefusedException when the command runs without them
     */
    public static void refuseUnlessRoot(ClientRequest request, String what)
            throws RefusedException {
        if (!isRoot(request)) {
            throw new RefusedException(
                    Refusal.of(
                            "only root may "
                                    + what
                                    + ": sudo jnvdocker "
                                    + request.arguments().stream()
                                            .map(word -> ShellWord.typed(Quote.shown(word)))
                                            .collect(Collectors.joining(" "))));
        }
    }

    /**
     * @param whose the sentence that says whose it is
     * @param what the action that is for its owner and root
     * @throws RefusedException when the caller is neither
     */
    public static void refuseUnlessOwner(
            ClientRequest request, Owner owner, String whose, String what) throws RefusedException {
        if (!isRoot(request) && owner(request).uid() != owner.uid()) {
            throw new RefusedException(
                    whose,
                    "only %s and root may %s; contact one of them"
                            .formatted(Quote.shown(owner.name()), what));
        }
    }

    /**
     * Returns the user of the peer's uid, as the kernel reports it. Only if that is root, the user
     * who logged in or else the user who called sudo: a process whose login uid is unset may write
     * any number there, and sudo's variable is the client's own word.
     */
    public static Owner owner(ClientRequest request) {
        if (!isRoot(request)) {
            return Owners.of(request.peer().uid());
        }
        Optional<Integer> login = request.process().flatMap(Caller::login);
        if (login.isPresent()) {
            return Owners.of(login.get());
        }
        String sudo = request.variable("SUDO_UID");
        return Owners.of(sudo.matches("[0-9]{1,10}") ? (int) Long.parseLong(sudo) : 0);
    }

    private static Optional<Integer> login(ProcessId process) {
        OptionalInt login = PROCESSES.loginUid(process.pid());
        // The number may have been a later process's when it was read.
        return login.isPresent() && PROCESSES.isAlive(process)
                ? Optional.of(login.getAsInt())
                : Optional.empty();
    }

    /**
     * Returns the process that made the connection, whichever process has sent the request.
     *
     * @throws RefusedException when it is not a live process of this machine that we can watch
     */
    public static ProcessId process(ClientRequest request) throws RefusedException {
        if (request.peer().pid() == 0) {
            throw new RefusedException(
                    "the process that requests GPUs is in another PID namespace, so its end could"
                            + " not be seen",
                    "run jnvdocker on the host itself");
        }
        return request.process()
                .filter(PROCESSES::isAlive)
                .orElseThrow(() ->
                        new RefusedException(
                                "process "
                                        + request.peer().pid()
                                        + ", which connected to jnvdockerd, has ended",
                                "run the command again, and keep its process alive"));
    }
}
