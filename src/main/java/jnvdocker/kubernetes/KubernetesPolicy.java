package jnvdocker.kubernetes;

import jnvdocker.host.Gpu;
import jnvdocker.request.GpuResolver;
import jnvdocker.words.InvalidValueException;
import jnvdocker.words.Quote;

import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Which GPUs pods get, and how their manifests name them: the table {@code [kubernetes]} of the
 * configuration.
 *
 * @param enabled whether a kubelet is served at all
 * @param resource {@code nvidia.com/gpu}
 * @param perModel whether each model is a resource of its own, as {@code nvidia.com/a100-sxm4-80gb}
 * @param kubeletDirectory the kubelet's own directory
 * @param cdi whether containers get their GPUs as devices of the Container Device Interface, too
 * @param gpus ids of the only GPUs that pods get; empty for any GPU
 * @param cluster whose resource claims give pods their GPUs; empty when a device plugin does
 */
public record KubernetesPolicy(
        boolean enabled,
        String resource,
        boolean perModel,
        Path kubeletDirectory,
        boolean cdi,
        List<String> gpus,
        Optional<Cluster> cluster) {
    public static final String RESOURCE = "nvidia.com/gpu";
    public static final Path KUBELET_DIRECTORY = Path.of("/var/lib/kubelet");

    /** The kubelet's own, where kubeadm puts it. */
    public static final Path KUBECONFIG = Path.of("/etc/kubernetes/kubelet.conf");

    private static final String LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";

    /** The name of a quota for it is longer by 9 characters. */
    private static final Pattern NAME =
            Pattern.compile(
                    "(?=.{1,244}/)"
                            + LABEL
                            + "([.]"
                            + LABEL
                            + ")*"
                            + "/[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?");

    private static final Pattern NODE =
            Pattern.compile("(?=.{1,253}$)" + LABEL + "([.]" + LABEL + ")*");

    private static final int LONGEST_NAME = 63;

    /**
     * A cluster, as a driver of Dynamic Resource Allocation knows it.
     *
     * @param kubeconfig the file that names its API server, and has the credentials
     * @param node the name of this host there; empty when that is the host's own, in lower case
     */
    public record Cluster(Path kubeconfig, Optional<String> node) {}

    public KubernetesPolicy {
        gpus = List.copyOf(gpus);
    }

    /**
     * Returns the name of a resource, if Kubernetes takes it.
     *
     * @throws InvalidValueException saying what to write
     */
    public static String checkResource(String name) {
        boolean builtIn =
                name.matches("(.*[.])?kubernetes[.]io/.*") || name.startsWith("requests.");
        if (builtIn || !NAME.matcher(name).matches()) {
            throw new InvalidValueException(
                    Quote.quoted(name) + " is not the name of an extended resource",
                    "write a domain and a name, as " + RESOURCE);
        }
        return name;
    }

    /**
     * Returns the name of a node, if Kubernetes takes it.
     *
     * @throws InvalidValueException saying what to write
     */
    public static String checkNode(String name) {
        if (!NODE.matcher(name).matches()) {
            throw new InvalidValueException(
                    Quote.quoted(name) + " is not the name of a node",
                    "write it as 'kubectl get nodes' shows it");
        }
        return name;
    }

    /** Returns a copy of this policy for these GPUs. */
    public KubernetesPolicy giving(List<String> others) {
        return new KubernetesPolicy(
                enabled, resource, perModel, kubeletDirectory, cdi, others, cluster);
    }

    /** Whether pods may get this GPU. */
    boolean gives(Gpu gpu) {
        return gpus.isEmpty() || gpus.stream().anyMatch(id -> GpuResolver.covers(id, gpu));
    }

    /** Ids of {@link #gpus} that none of a host's GPUs has. */
    public List<String> givesNothing(List<Gpu> host) {
        return GpuResolver.coveringNone(gpus, host);
    }

    /** The name of the resource that a GPU is one of. */
    String resourceOf(Gpu gpu) {
        if (!perModel) {
            return resource;
        }
        String words =
                gpu.model()
                        .toLowerCase(Locale.ROOT)
                        .replaceFirst("^nvidia ", "")
                        .replaceAll("[^a-z0-9.]+", "-");
        String name = words.substring(0, Math.min(words.length(), LONGEST_NAME));
        String clean = name.replaceAll("^[^a-z0-9]+|[^a-z0-9]+$", "");
        return resource.substring(0, resource.indexOf('/') + 1) + (clean.isEmpty() ? "gpu" : clean);
    }

    /** Whether a kubelet is served alike, whatever pods get. */
    public boolean isServedLike(KubernetesPolicy other) {
        return enabled == other.enabled
                && resource.equals(other.resource)
                && perModel == other.perModel
                && kubeletDirectory.equals(other.kubeletDirectory)
                && cluster.equals(other.cluster);
    }
}
