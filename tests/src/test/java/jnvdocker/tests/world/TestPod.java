package jnvdocker.tests.world;

import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * A pod, as far as it concerns a kubelet's devices.
 *
 * @param init its init containers, which are begun before the others
 */
public record TestPod(
        String uid, String namespace, String name, List<Container> init, List<Container> main) {
    public TestPod {
        init = List.copyOf(init);
        main = List.copyOf(main);
    }

    /**
     * One of its containers.
     *
     * @param gpus how many devices of {@code resource} it wants
     * @param sidecar whether it is an init container that goes on
     */
    public record Container(String name, String resource, int gpus, boolean sidecar) {}

    public static Container container(String name, int gpus) {
        return new Container(name, TestKubelet.GPU, gpus, false);
    }

    public static Container sidecar(String name, int gpus) {
        return new Container(name, TestKubelet.GPU, gpus, true);
    }

    /** A pod in the namespace {@code default} with one container, {@code main}. */
    public static TestPod of(String uid, int gpus) {
        return of(uid, List.of(), List.of(container("main", gpus)));
    }

    /** A pod in the namespace {@code team-a} with one container, {@code main}. */
    public static TestPod named(String name, int gpus) {
        return new TestPod(
                UUID.randomUUID().toString(),
                "team-a",
                name,
                List.of(),
                List.of(container("main", gpus)));
    }

    public static TestPod of(String uid, List<Container> init, List<Container> main) {
        return new TestPod(uid, "default", "pod-" + uid, init, main);
    }

    List<Container> all() {
        List<Container> all = new ArrayList<>(init);
        all.addAll(main);
        return all;
    }

    Container container(String wanted) {
        return all().stream().filter(it -> it.name().equals(wanted)).findFirst().orElseThrow();
    }

    /** The containers that the kubelet lists: init containers that end are missing. */
    List<Container> listed() {
        return all().stream().filter(it -> it.sidecar() || main.contains(it)).toList();
    }
}
