package jnvdocker.docker.cli;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.words.RefusedException;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The options that connect another container to a container's networks. */
final class NetworkOptions {
    private final JsonNode container;

    private NetworkOptions(JsonNode container) {
        this.container = container;
    }

    /** The options of {@code docker create}, which connects to one network. */
    static List<String> of(JsonNode container) throws RefusedException {
        return new NetworkOptions(container).primary();
    }

    /**
     * The further networks of the container: for each the words that follow {@code docker network
     * connect}, without the container.
     */
    static List<List<String>> others(JsonNode container) throws RefusedException {
        NetworkOptions all = new NetworkOptions(container);
        List<List<String>> networks = new ArrayList<>();
        for (var network : container.path("NetworkSettings").path("Networks").properties()) {
            if (!all.isPrimary(network)) {
                List<String> words = new ArrayList<>(all.endpoint(network.getValue(), "alias"));
                words.addAll(List.of("--", network.getKey()));
                networks.add(words);
            }
        }
        return networks;
    }

    private List<String> primary() throws RefusedException {
        List<String> options = new ArrayList<>();
        String mode = mode();
        if (!mode.equals("default")) {
            options.add("--network=" + mode);
        }
        for (var network : container.path("NetworkSettings").path("Networks").properties()) {
            if (isPrimary(network)) {
                options.addAll(endpoint(network.getValue(), "network-alias"));
                String address = network.getValue().path("MacAddress").asText();
                String typed = container.path("Config").path("MacAddress").asText();
                if (!address.isEmpty() || !typed.isEmpty()) {
                    options.add("--mac-address=" + (address.isEmpty() ? typed : address));
                }
            }
        }
        return options;
    }

    private String mode() {
        return container.path("HostConfig").path("NetworkMode").asText();
    }

    private boolean isPrimary(Map.Entry<String, JsonNode> network) {
        String mode = mode();
        return network.getKey().equals(mode.equals("default") ? "bridge" : mode)
                || network.getValue().path("NetworkID").asText().equals(mode);
    }

    private List<String> endpoint(JsonNode settings, String aliasOption) throws RefusedException {
        List<String> words = new ArrayList<>();
        for (JsonNode alias : settings.path("Aliases")) {
            if (!ContainerOptions.isShortId(alias.asText(), container)) {
                words.add("--" + aliasOption + "=" + alias.asText());
            }
        }
        JsonNode addresses = settings.path("IPAMConfig");
        Map.of("IPv4Address", "ip", "IPv6Address", "ip6")
                .forEach((key, option) -> {
                    if (!ContainerOptions.isUnset(addresses.path(key))) {
                        words.add("--" + option + "=" + addresses.path(key).asText());
                    }
                });
        for (JsonNode address : addresses.path("LinkLocalIPs")) {
            words.add("--link-local-ip=" + address.asText());
        }
        for (JsonNode link : settings.path("Links")) {
            words.add("--link=" + link.asText());
        }
        for (String setting : List.of("DriverOpts", "GwPriority")) {
            if (!ContainerOptions.isUnset(settings.path(setting))) {
                throw ContainerOptions.unknown(
                        "NetworkSettings." + setting, settings.path(setting));
            }
        }
        return words;
    }
}
