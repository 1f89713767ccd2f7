package jnvdocker.kubernetes.node;

import jnvdocker.config.ConfigFile;
import jnvdocker.config.ConfigTable;
import jnvdocker.config.ConfigValues;
import jnvdocker.config.StartException;
import jnvdocker.kubernetes.KubernetesPolicy;
import jnvdocker.words.InvalidValueException;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The table {@code [kubernetes]} of the configuration. */
public final class ConfiguredKubernetes {
    public static final ConfigTable<KubernetesPolicy> TABLE =
            new ConfigTable<>("kubernetes", ConfiguredKubernetes::read);

    private ConfiguredKubernetes() {}

    private static KubernetesPolicy read(ConfigFile written) throws StartException {
        return new KubernetesPolicy(
                written.at("enabled").choice(),
                resource(written.at("resource")),
                written.at("resource_per_model").choice(),
                ConfigValues.absolute(written.at("kubelet_dir"), "that of the kubelet's directory")
                        .orElse(KubernetesPolicy.KUBELET_DIRECTORY),
                written.at("cdi").choiceUnlessSaid(),
                ConfigValues.gpuIds(written.at("gpus")),
                cluster(written));
    }

    private static Optional<KubernetesPolicy.Cluster> cluster(ConfigFile written)
            throws StartException {
        boolean claims = written.at("driver").oneOf(List.of("device-plugin", "dra")).equals("dra");
        Path kubeconfig =
                ConfigValues.absolute(written.at("kubeconfig"), "that of a kubeconfig file")
                        .orElse(KubernetesPolicy.KUBECONFIG);
        Optional<String> node = written.at("node").text().filter(it -> !it.isBlank());
        try {
            Optional<String> named = node.map(KubernetesPolicy::checkNode);
            return claims
                    ? Optional.of(new KubernetesPolicy.Cluster(kubeconfig, named))
                    : Optional.empty();
        } catch (InvalidValueException e) {
            throw written.at("node").refusal(e.refusal(), e);
        }
    }

    private static String resource(ConfigFile.Entry entry) throws StartException {
        Optional<String> text = entry.text().filter(it -> !it.isBlank());
        try {
            return text.map(KubernetesPolicy::checkResource).orElse(KubernetesPolicy.RESOURCE);
        } catch (InvalidValueException e) {
            throw entry.refusal(e.refusal(), e);
        }
    }
}
