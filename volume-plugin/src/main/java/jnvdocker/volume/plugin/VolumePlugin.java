package jnvdocker.volume.plugin;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;

import jnvdocker.posix.FileErrors;
import jnvdocker.posix.ProcessId;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Docker's volume plugin protocol without its transport: a verb and a JSON request in, a JSON
 * answer out. A failure is an answer too, {@code {"Err": "…"}}; there is one path to it.
 */
public final class VolumePlugin {
    private static final Logger LOG = LoggerFactory.getLogger(VolumePlugin.class);
    private static final int MAX_NAME = 255;

    private final List<PluginVolumes> kinds;
    private final ObjectMapper json = mapper();
    private volatile boolean stopped;

    public VolumePlugin(List<PluginVolumes> kinds) {
        this.kinds = List.copyOf(kinds);
    }

    /** Makes no volume any more; those that are there are served. */
    public void stop() {
        stopped = true;
    }

    /** Makes volumes again. */
    public void resume() {
        stopped = false;
    }

    /** The union of all verbs' requests; dockerd sends every verb just the fields it needs. */
    private record Request(
            @JsonProperty("Name") String name,
            @JsonProperty("ID") String id,
            @JsonProperty("Opts") Map<String, String> options) {}

    /**
     * Answers one request.
     *
     * @param verb the request's path without the slash: {@code VolumeDriver.Mount}
     * @param caller the process that sent it
     * @return the answer's body, or empty when there is no such verb
     */
    public Optional<String> answer(String verb, byte[] request, ProcessId caller)
            throws JsonProcessingException {
        try {
            return Optional.of(json.writeValueAsString(perform(verb, request, caller)));
        } catch (NoSuchVerbException e) {
            return Optional.empty();
        } catch (RefusedException e) {
            return Optional.of(json.writeValueAsString(Map.of("Err", e.refusal().message())));
        } catch (IOException e) {
            String message = FileErrors.refusal(e).message();
            return Optional.of(json.writeValueAsString(Map.of("Err", message)));
        } catch (RuntimeException e) {
            LOG.error("{} failed", verb, e);
            String message = "internal error in " + verb + "; jnvdockerd's log has the details";
            return Optional.of(json.writeValueAsString(Map.of("Err", message)));
        }
    }

    private Map<String, Object> perform(String verb, byte[] body, ProcessId caller)
            throws RefusedException, NoSuchVerbException, IOException {
        return switch (verb) {
            case "Plugin.Activate" -> Map.of("Implements", List.of("VolumeDriver"));
            case "VolumeDriver.Capabilities" -> Map.of("Capabilities", Map.of("Scope", "local"));
            case "VolumeDriver.List" -> Map.of("Volumes", list(), "Err", "");
            case "VolumeDriver.Create",
                    "VolumeDriver.Remove",
                    "VolumeDriver.Mount",
                    "VolumeDriver.Unmount",
                    "VolumeDriver.Path",
                    "VolumeDriver.Get" ->
                    perform(verb, parse(verb, body), caller);
            default -> throw new NoSuchVerbException();
        };
    }

    private Map<String, Object> perform(String verb, Request request, ProcessId caller)
            throws RefusedException, NoSuchVerbException, IOException {
        String name = request.name();
        PluginVolumes volumes = kindOf(name);
        String id = request.id() == null ? "" : request.id();
        switch (verb) {
            case "VolumeDriver.Create" -> {
                refuseWhenStopped();
                volumes.create(name, Optional.ofNullable(request.options()).orElse(Map.of()));
            }
            case "VolumeDriver.Remove" -> volumes.remove(name);
            case "VolumeDriver.Unmount" -> volumes.unmount(name, id);
            case "VolumeDriver.Mount" -> {
                return Map.of("Mountpoint", volumes.mount(name, id, caller).toString(), "Err", "");
            }
            case "VolumeDriver.Path" -> {
                return Map.of("Mountpoint", volumes.get(name).mountpoint().toString(), "Err", "");
            }
            case "VolumeDriver.Get" -> {
                return Map.of("Volume", render(volumes.get(name)), "Err", "");
            }
            default -> throw new NoSuchVerbException();
        }
        return Map.of("Err", "");
    }

    private void refuseWhenStopped() throws RefusedException {
        if (stopped) {
            throw new RefusedException(
                    "jnvdocker is being uninstalled and makes no volume",
                    "contact an administrator");
        }
    }

    private PluginVolumes kindOf(String name) throws RefusedException {
        for (PluginVolumes kind : kinds) {
            if (kind.owns(name)) {
                return kind;
            }
        }
        VolumeName parsed = VolumeName.parse(name);
        throw new RefusedException("unsupported volume: " + parsed, VolumeName.USE);
    }

    private List<Map<String, Object>> list() {
        List<Map<String, Object>> all = new ArrayList<>();
        for (PluginVolumes kind : kinds) {
            kind.list().forEach(volume -> all.add(render(volume)));
        }
        return all;
    }

    private static Map<String, Object> render(VolumeInfo volume) {
        return Map.of(
                "Name", volume.name(),
                "Mountpoint", volume.mountpoint().toString(),
                "Status", volume.status());
    }

    private Request parse(String verb, byte[] body) throws RefusedException {
        if (body.length == 0) {
            // Docker repeats what had no answer, and has lost by then what it was about.
            throw new RefusedException(
                    verb
                            + ": jnvdockerd was restarted before it had answered, and docker has"
                            + " sent another request without a volume's name",
                    "try again");
        }
        Request request;
        try {
            request = json.readValue(body, Request.class);
        } catch (IOException e) {
            throw new RefusedException(
                    verb + ": the request is not the JSON object that docker sends", "send that");
        }
        if (request == null || request.name() == null || request.name().isEmpty()) {
            throw new RefusedException(verb + ": the request names no volume", "give its Name");
        }
        if (request.name().length() > MAX_NAME) {
            throw new RefusedException(
                    verb + ": the volume's name is longer than " + MAX_NAME + " characters",
                    "shorten it");
        }
        return request;
    }

    private static ObjectMapper mapper() {
        var constraints = StreamReadConstraints.builder().maxNestingDepth(16).build();
        return JsonMapper.builder(JsonFactory.builder().streamReadConstraints(constraints).build())
                .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
                .build();
    }

    private static final class NoSuchVerbException extends Exception {
        private static final long serialVersionUID = 1L;
    }
}
