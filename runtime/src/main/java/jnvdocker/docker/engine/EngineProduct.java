package jnvdocker.docker.engine;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.github.dockerjava.api.model.Info;
import com.github.dockerjava.api.model.Version;
import com.github.dockerjava.api.model.VersionComponent;

import jnvdocker.words.Quote;

import java.util.List;
import java.util.Objects;

/**
 * The kind of engine that answers Docker's API: others do, too, and ignore what they do not know.
 *
 * @param name of its main component: {@code Engine} is Docker's, {@code Podman Engine} podman's;
 *     empty when it does not report one
 * @param rootless whether it runs without root, and so has no plugins of the host's
 */
public record EngineProduct(String name, boolean rootless) {
    /** A server that reports no component. */
    public static final EngineProduct UNKNOWN = new EngineProduct("", false);

    /** Among the security options of an engine that runs without root. */
    private static final String ROOTLESS = "name=rootless";

    static EngineProduct of(Version version, Info info) {
        List<VersionComponent> components =
                Objects.requireNonNullElse(version.getComponents(), List.of());
        String name = components.isEmpty() ? null : components.getFirst().getName();
        List<String> options = Objects.requireNonNullElse(info.getSecurityOptions(), List.of());
        return new EngineProduct(Objects.requireNonNullElse(name, ""), options.contains(ROOTLESS));
    }

    /**
     * Reads what {@code docker version --format '{{json .Server}}'} prints. The first component is
     * the main one: behind those of another engine, docker's own client adds an {@code Engine}. It
     * does not say whether the engine runs without root.
     */
    public static EngineProduct parse(String json) {
        try {
            return new EngineProduct(
                    new JsonMapper().readTree(json).at("/Components/0/Name").asText(""), false);
        } catch (JsonProcessingException e) {
            return UNKNOWN;
        }
    }

    /** The name for messages: {@code Docker}, {@code podman}, or the reported one. */
    public String title() {
        String known = isDocker() ? "Docker" : isPodman() ? "podman" : Quote.shown(name);
        return known.isEmpty() ? "an unknown engine" : known + (rootless ? " without root" : "");
    }

    public boolean isDocker() {
        return name.equals("Engine");
    }

    public boolean isPodman() {
        return name.startsWith("Podman");
    }
}
