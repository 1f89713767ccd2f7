package jnvdocker.protocol;

import jnvdocker.posix.Peer;
import jnvdocker.posix.ProcessId;
import jnvdocker.words.Ascii;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The client's data about its caller.
 *
 * @param peer the calling process, as reported by the kernel, not by the client
 * @param process the same, never to be confused with a later one of its pid; empty when it has
 *     ended before it could be examined, or is in another PID namespace
 * @param terminals which of the client's standard streams are terminals
 * @param contextConfigured whether the user's docker config may name a context
 * @param columns the terminal's width, 0 if there is none
 * @param directory the working directory
 * @param docker the words of the docker command, the first a path; the mere name for a command of
 *     our own on a host without docker
 * @param arguments as typed, without the program's name
 * @param variables the caller's variables that concern us
 */
public record ClientRequest(
        Peer peer,
        Optional<ProcessId> process,
        Terminals terminals,
        boolean contextConfigured,
        int columns,
        String directory,
        List<String> docker,
        List<String> arguments,
        Map<String, String> variables) {
    static final int VERSION = 1;
    private static final String LOCALE = "LC_CTYPE";
    private static final int IN = 1;
    private static final int OUT = 2;
    private static final int ERR = 4;
    private static final int CONTEXT = 8;

    /** Whether each of the standard streams is a terminal. */
    public record Terminals(boolean in, boolean out, boolean err) {}

    public ClientRequest {
        docker = List.copyOf(docker);
        arguments = List.copyOf(arguments);
        variables = Map.copyOf(variables);
    }

    /** Returns a variable's value, empty if it is not set. */
    public String variable(String name) {
        return variables.getOrDefault(name, "");
    }

    /** The variable TZ; empty if it is not set, and the caller's zone is the host's. */
    public Optional<String> timeZone() {
        return Optional.ofNullable(variables.get("TZ"));
    }

    /**
     * Whether the caller can read only ASCII. Older clients do not report it; all of them count as
     * able to read more.
     */
    public boolean readsAsciiAlone() {
        return variables.containsKey(LOCALE) && Ascii.isAll(variables.get(LOCALE));
    }

    /** Returns a command of the user's docker: the docker command, then these words. */
    public List<String> dockerWith(List<String> words) {
        return Stream.concat(docker.stream(), words.stream()).toList();
    }

    static ClientRequest parse(Payload.Reader reader, Peer peer, Optional<ProcessId> process)
            throws IOException {
        int version = reader.number();
        if (version != VERSION) {
            throw new ProtocolVersionException(version);
        }
        int flags = reader.number();
        int columns = Math.clamp(reader.number(), 0, 10_000);
        String directory = reader.string();
        List<String> docker = reader.strings();
        List<String> arguments = reader.strings();
        Map<String, String> variables = variables(reader.strings());
        if (docker.isEmpty()) {
            throw new IOException("the request names no docker program");
        }
        return new ClientRequest(
                peer,
                process,
                new Terminals((flags & IN) != 0, (flags & OUT) != 0, (flags & ERR) != 0),
                (flags & CONTEXT) != 0,
                columns,
                directory,
                docker,
                arguments,
                variables);
    }

    private static Map<String, String> variables(List<String> assignments) {
        Map<String, String> variables = new HashMap<>();
        for (String assignment : assignments) {
            int equals = assignment.indexOf('=');
            if (equals > 0) {
                variables.putIfAbsent(
                        assignment.substring(0, equals), assignment.substring(equals + 1));
            }
        }
        return variables;
    }
}
