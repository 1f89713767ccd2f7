package jnvdocker.command.caller;

import jnvdocker.docker.cli.RunCommand;
import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.protocol.CallResult;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.FailedException;

import java.io.IOException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/** The engine that a user's docker talks to, determined as docker does. */
public sealed interface UserEngine {

    /** The engine that the daemon uses as well, be it through our proxy. */
    record Ours() implements UserEngine {}

    /** Another engine, on this machine or another one, which is given no GPUs. */
    record Other(String url) implements UserEngine {
        /** Whether it may be on this machine. */
        public boolean isSocket() {
            return url.startsWith(SOCKET);
        }
    }

    /** Docker cannot determine the engine, and has reported the reason to the user. */
    record Unknown(int exitCode) implements UserEngine {}

    String SOCKET = "unix://";

    /** Docker's default socket. */
    String DEFAULT_SOCKET = "/var/run/docker.sock";

    /** Docker's options and variables that do. */
    Pattern CHOOSES_ENGINE =
            Pattern.compile("(-[Hc]|--(host|context|config)\\b|DOCKER_(HOST|CONTEXT|CONFIG)=).*");

    /** The order of precedence is docker's own: options, DOCKER_HOST, DOCKER_CONTEXT, config. */
    static UserEngine of(
            RunCommand run, ClientRequest request, ClientConnection client, DockerEngine ours)
            throws IOException {
        Optional<String> host = run.host().filter(url -> !url.isEmpty());
        boolean context = run.context().filter(name -> !name.isEmpty()).isPresent();
        if (isChosenByProgram(request)) {
            return ofContext(run.globals(), request, client, ours);
        }
        if (host.isPresent() && !context) {
            return at(host.get(), request, ours);
        }
        if (!context && !request.variable("DOCKER_HOST").isEmpty()) {
            return at(request.variable("DOCKER_HOST"), request, ours);
        }
        if (context
                || !request.variable("DOCKER_CONTEXT").isEmpty()
                || request.contextConfigured()
                || run.config().isPresent()) {
            return ofContext(run.globals(), request, client, ours);
        }
        return at(SOCKET + DEFAULT_SOCKET, request, ours);
    }

    /** Returns the engine that docker uses when no option names one. */
    static UserEngine withoutOptions(
            ClientRequest request, ClientConnection client, DockerEngine ours) throws IOException {
        if (!request.variable("DOCKER_HOST").isEmpty()) {
            return at(request.variable("DOCKER_HOST"), request, ours);
        }
        if (!request.variable("DOCKER_CONTEXT").isEmpty() || request.contextConfigured()) {
            return ofContext(List.of(), request, client, ours);
        }
        return at(SOCKET + DEFAULT_SOCKET, request, ours);
    }

    private static UserEngine ofContext(
            List<String> globals, ClientRequest request, ClientConnection client, DockerEngine ours)
            throws IOException {
        List<String> inspect = new ArrayList<>(globals);
        inspect.addAll(List.of("context", "inspect", "--format", "{{.Endpoints.docker.Host}}"));
        CallResult result = client.captureQuietly(request.dockerWith(inspect));
        if (result.succeeded()) {
            return at(result.output().strip(), request, ours);
        }
        // A command that needs an engine makes docker report the failure in its own words.
        List<String> list = new ArrayList<>(globals);
        list.addAll(List.of("ps", "--quiet"));
        CallResult failed = client.capture(request.dockerWith(list));
        if (failed.succeeded()) {
            throw new FailedException(
                    "'docker context inspect' does not name the engine that docker uses",
                    "name it with DOCKER_HOST");
        }
        return new Unknown(failed.exitCode());
    }

    /** Whether the words that stand for docker, as {@code docker -H …}, choose the engine. */
    private static boolean isChosenByProgram(ClientRequest request) {
        return request.dockerWith(List.of()).stream()
                .skip(1)
                .anyMatch(CHOOSES_ENGINE.asMatchPredicate());
    }

    private static UserEngine at(String url, ClientRequest request, DockerEngine ours)
            throws IOException {
        if (!url.startsWith(SOCKET)) {
            return new Other(url);
        }
        String typed = url.substring(SOCKET.length());
        try {
            // Docker takes a relative path from the user's directory.
            Path socket =
                    Path.of(request.directory()).resolve(typed.isEmpty() ? DEFAULT_SOCKET : typed);
            return ours.isAt(socket) ? new Ours() : new Other(SOCKET + socket);
        } catch (InvalidPathException e) {
            return new Other(url);
        }
    }
}
