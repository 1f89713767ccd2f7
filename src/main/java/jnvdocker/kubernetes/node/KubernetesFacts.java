package jnvdocker.kubernetes.node;

import jnvdocker.host.Gpu;
import jnvdocker.kubernetes.PluginRegistration;
import jnvdocker.posix.SocketFile;
import jnvdocker.words.Refusal;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The daemon's services for pods of Kubernetes. */
interface KubernetesFacts {
    /** Whether a kubelet is served. */
    boolean enabled();

    /** Whether pods get their GPUs by resource claims, and not from a device plugin. */
    boolean byClaims();

    /** The kubelet's own directory. */
    Path kubeletDirectory();

    /** Whether a kubelet answers there. */
    default boolean isKubeletThere() {
        return SocketFile.answers(kubeletDirectory().resolve("device-plugins/kubelet.sock"));
    }

    /** The configuration that says so. */
    Path config();

    /** The ids in the configuration that none of these GPUs has. */
    List<String> givesNothing(List<Gpu> host);

    /** How many GPUs pods have leases of. */
    int gpusOfPods() throws IOException;

    /** What each pod uses that has joined another's resource claim. */
    List<String> joined() throws IOException;

    /** The registration of each resource, after its first try, if that ends soon. */
    List<PluginRegistration> registrations();

    /** Why no pod of this kubelet starts with GPUs; empty if pods do, or none has tried to. */
    Optional<Refusal> fault();

    /** Why pods get no driver's files; empty if they do. */
    Optional<Refusal> obstacle();

    /** The fault of the CDI file, which pods can do without; empty if there is none. */
    Optional<Refusal> cdiFault();

    /** The path of the CDI file; empty if pods get no CDI devices. */
    Optional<Path> cdiFile();
}
