package jnvdocker.kubernetes.kubelet;

import jnvdocker.kubernetes.DevicePlugin;

import java.util.Locale;

/**
 * A resource of a node, with the plugin that gives it out.
 *
 * @param name {@code nvidia.com/gpu}
 */
public record Resource(String name, DevicePlugin plugin) {
    /** The name of the plugin's socket in the kubelet's directory. */
    String socketName() {
        return "jnvdocker-"
                + name.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9.-]", "-")
                + ".sock";
    }
}
