package jnvdocker.command.runtime;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.json.ForeignJson;
import jnvdocker.oci.lease.EditedContainers;
import jnvdocker.oci.spec.RuntimeSpec;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * {@code runtime exec}: a command is about to be run in a container that our runtime has edited.
 * The engine gives it the variables that the container was made with, without those that the
 * container got from us.
 */
public final class RuntimeExec {
    static final String WORD = "exec";

    private static final String ENV = "env";
    private static final JsonMapper JSON =
            JsonMapper.builder()
                    .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
                    .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
                    .build();

    private final EditedContainers edited;

    public RuntimeExec(EditedContainers edited) {
        this.edited = edited;
    }

    /**
     * @param words the id, the name of the process's file, and its text
     */
    void run(List<String> words, ClientRequest request, ClientConnection client)
            throws IOException, RefusedException {
        RuntimeCalls.refuseUnless(words.size() == 4 && RuntimeCalls.isId(words.get(1)));
        RuntimeCalls.refuseOthersThanEngines(request);
        List<EditedContainers.SetVariable> variables = edited.variables(words.get(1));
        if (!variables.isEmpty()) {
            client.take(RuntimeSpec.memory(words.get(3)));
        }
        Optional<String> process = edit(words.get(3), variables);
        if (process.isPresent()) {
            client.print(process.get());
        }
        client.exit(ExitCode.OK);
    }

    /**
     * Returns empty if nothing is to be changed. Variables set by the command's user stay as they
     * are.
     */
    static Optional<String> edit(String process, List<EditedContainers.SetVariable> variables)
            throws IOException {
        if (variables.isEmpty()
                || !(ForeignJson.tree(JSON, process, RuntimeSpec.MOST) instanceof ObjectNode root)
                || !(root.get(ENV) == null || root.get(ENV) instanceof ArrayNode)) {
            return Optional.empty();
        }
        String before = text(root);
        ArrayNode environment =
                root.get(ENV) instanceof ArrayNode found ? found : root.putArray(ENV);
        variables.forEach(variable -> set(environment, variable));
        String after = text(root);
        return after.equals(before) ? Optional.empty() : Optional.of(after);
    }

    private static void set(ArrayNode environment, EditedContainers.SetVariable variable) {
        String name = variable.name() + "=";
        int last = -1;
        for (int i = 0; i < environment.size(); i++) {
            JsonNode entry = environment.get(i);
            if (entry.isTextual() && entry.textValue().startsWith(name)) {
                last = i;
            }
        }
        String now = name + variable.now();
        if (last < 0) {
            environment.add(now);
        } else if (environment.get(last).textValue().equals(name + variable.before())) {
            environment.set(last, now);
        }
    }

    private static String text(JsonNode node) {
        try {
            return JSON.writeValueAsString(node);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("a tree is always JSON", e);
        }
    }
}
