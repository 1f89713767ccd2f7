package jnvdocker.kubernetes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.kubernetes.Kubelet.ContainerDevices;
import jnvdocker.lease.Origin;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Which container of which pod has devices, by the names of one and the uids of the other. */
@Attack(
        by = "a kubelet",
        what = "lists names, or refuses with words, that a terminal acts upon",
        result = "the GPU is held by a pod without a name; the words are spelled out")
class DeviceHoldersTest {
    private static final String GPU = "nvidia.com/gpu";
    private static final String UID = "67fa988c5de6f713e0a8a764c9909af8";
    private static final String OTHER = "2b1c9d5e-6f70-4a8b-9c0d-1e2f3a4b5c6d";
    private static final Origin.Pod MULTI = new Origin.Pod(UID, "default", "multi");

    private static ContainerDevices listed(String pod, String container, String... ids) {
        return new ContainerDevices("default", pod, container, GPU, Set.of(ids));
    }

    private static Checkpoint.Entry kept(String uid, String container, String... ids) {
        return new Checkpoint.Entry(uid, container, GPU, Set.of(ids), List.of());
    }

    private static DeviceHolders holders(
            List<ContainerDevices> listed, Checkpoint.Entry... entries) {
        return new DeviceHolders(listed, new Checkpoint(List.of(entries), Map.of()));
    }

    /** A pod with an ordinary init container, a sidecar and two containers, as it was recorded. */
    private static final DeviceHolders RECORDED =
            holders(
                    List.of(
                            listed("multi", "side", "0"),
                            listed("multi", "a", "1", "2"),
                            listed("multi", "b", "3")),
                    kept(UID, "prep", "0"),
                    kept(UID, "side", "0"),
                    kept(UID, "a", "1", "2"),
                    kept(UID, "b", "3"));

    @Test
    void containerHasItsPodsNameAndUid() {
        var found = RECORDED.find(GPU, Set.of("2", "1"));
        assertEquals(Optional.of(MULTI), found.pod());
        assertEquals(Optional.of("a"), found.container());
        assertFalse(found.isUnclear());
    }

    @Test
    void initContainerAndSidecarWithTheSameDeviceAreNotDistinguished() {
        var found = RECORDED.find(GPU, Set.of("0"));
        assertEquals(Optional.of(MULTI), found.pod());
        assertEquals(Optional.empty(), found.container());
        assertEquals(2, found.entries().size());
    }

    @Test
    void initContainerThatIsNotListedHasItsPodsName() {
        var holders =
                holders(
                        List.of(listed("multi", "main", "0", "1")),
                        kept(UID, "prep", "0"),
                        kept(UID, "main", "0", "1"));
        var found = holders.find(GPU, Set.of("0"));
        assertEquals(Optional.of(MULTI), found.pod());
        assertEquals(Optional.of("prep"), found.container());
    }

    @Test
    void podThatIsNotListedIsKnownByItsUid() {
        var found = holders(List.of(), kept(UID, "main", "0")).find(GPU, Set.of("0"));
        assertEquals(Optional.of(new Origin.Pod(UID, "", "")), found.pod());
    }

    @Test
    void podWithoutAnEntryIsKnownByItsName() {
        var found = holders(List.of(listed("multi", "main", "0"))).find(GPU, Set.of("0"));
        assertEquals(Optional.of(new Origin.Pod("", "default", "multi")), found.pod());
        assertTrue(found.isUnclear());
    }

    @Test
    void nobodyIsKnownByPartOfTheDevices() {
        var holders = holders(List.of(listed("multi", "main", "0", "1")), kept(UID, "x", "0", "1"));
        assertEquals(Optional.empty(), holders.find(GPU, Set.of("0")).pod());
        assertEquals(Optional.empty(), holders.find("other.com/gpu", Set.of("0", "1")).pod());
    }

    @Test
    void entryOfAnEarlierPodDoesNotHideTheLaterOne() {
        var holders =
                holders(
                        List.of(listed("next", "main", "0")),
                        kept(OTHER, "main", "0", "1"),
                        kept(UID, "main", "0"));
        assertEquals(
                Optional.of(new Origin.Pod(UID, "default", "next")),
                holders.find(GPU, Set.of("0")).pod());
    }

    @Test
    void twoPodsWithTheSameDevicesAreBothDoubted() {
        var holders = holders(List.of(), kept(OTHER, "main", "0"), kept(UID, "main", "0"));
        assertTrue(holders.find(GPU, Set.of("0")).isUnclear());
    }

    @Test
    void listedPodsByDevice() {
        assertEquals(
                Map.of(
                        "0",
                        Set.of(MULTI),
                        "1",
                        Set.of(MULTI),
                        "2",
                        Set.of(MULTI),
                        "3",
                        Set.of(MULTI)),
                RECORDED.listed());
        assertEquals(
                Map.of("7", Set.of(new Origin.Pod("", "default", "x"))),
                holders(List.of(listed("x", "main", "7")), kept(UID, "main", "0")).listed());
    }

    @Test
    void rememberedPodsHaveNamesIfTheyAreListed() {
        var holders =
                holders(
                        List.of(listed("multi", "main", "0")),
                        kept(UID, "main", "0"),
                        kept(OTHER, "main", "5"));
        assertEquals(
                Map.of("0", Set.of(MULTI), "5", Set.of(new Origin.Pod(OTHER, "", ""))),
                holders.remembered());
    }

    /** Such a pod has its GPUs all the same. */
    @Test
    void namesThatKubernetesDoesNotAllowAreNotShown() {
        Origin.Pod nameless = new Origin.Pod(UID, "", "");
        for (String name : List.of("", "a b", "../x", "x\n", "X", "\u001b[2J", "a".repeat(254))) {
            for (ContainerDevices odd :
                    List.of(
                            listed(name, "main", "0"),
                            new ContainerDevices(name, "pod", "main", GPU, Set.of("0")))) {
                var holders = holders(List.of(odd), kept(UID, "main", "0"));
                assertEquals(Map.of("0", Set.of(nameless)), holders.listed());
                assertEquals(Optional.of(nameless), holders.find(GPU, Set.of("0")).pod());
            }
            var holders = holders(List.of(listed("multi", name, "0")), kept(UID, name, "0"));
            assertEquals(Map.of("0", Set.of(MULTI)), holders.listed());
            assertEquals(Optional.empty(), holders.find(GPU, Set.of("0")).container());
        }
    }
}
