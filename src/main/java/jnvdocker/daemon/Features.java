package jnvdocker.daemon;

import jnvdocker.feature.Feature;
import jnvdocker.kubernetes.node.KubernetesFeature;
import jnvdocker.mesos.MesosFeature;
import jnvdocker.process.Processes;

import java.util.List;

/** The features of the daemon. Each can be left out: its line here, and its directory. */
final class Features {
    private Features() {}

    /** In the order of their findings and of their tables in messages. */
    static List<Feature> of(Processes processes) {
        return List.of(new MesosFeature(processes), new KubernetesFeature(processes));
    }
}
