package jnvdocker.command.caller;

import jnvdocker.docker.cli.RunCommand;
import jnvdocker.protocol.CallResult;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The environment variables that the user's own options set in a container: {@code --env-file}
 * first, then {@code --env}, as docker orders them.
 */
public final class UserVariables {
    private final ClientRequest request;
    private final ClientConnection client;

    public UserVariables(ClientRequest request, ClientConnection client) {
        this.request = request;
        this.client = client;
    }

    /**
     * Returns name to value; null for a variable that is taken from the caller but not set there.
     */
    public Map<String, String> of(RunCommand run) throws IOException {
        Map<String, String> variables = new HashMap<>();
        for (String file : run.envFiles()) {
            read(file).lines().forEach(line -> setFromFile(variables, line));
        }
        run.env().forEach(setting -> set(variables, setting));
        return variables;
    }

    /** Unlike in an option, a name alone that the caller has not set changes nothing. */
    private void setFromFile(Map<String, String> variables, String line) {
        String setting = line.replace("\uFEFF", "").stripLeading();
        boolean ofTheCaller = setting.contains("=") || request.variables().containsKey(setting);
        if (!setting.isEmpty() && !setting.startsWith("#") && ofTheCaller) {
            set(variables, setting);
        }
    }

    private void set(Map<String, String> variables, String setting) {
        int equals = setting.indexOf('=');
        if (equals < 0) {
            variables.put(setting, request.variables().get(setting));
        } else {
            variables.put(setting.substring(0, equals), setting.substring(equals + 1));
        }
    }

    /**
     * Read by the client, as the user. A pipe would be empty when docker reads it, so only files
     * are read; docker itself complains about a file that cannot be read.
     */
    private String read(String file) throws IOException {
        CallResult text =
                client.capture(
                        List.of(
                                "sh",
                                "-c",
                                "[ -f \"$1\" ] && exec cat -- \"$1\" 2> /dev/null",
                                "sh",
                                file));
        return text.succeeded() ? text.output() : "";
    }
}
