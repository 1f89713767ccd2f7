package jnvdocker.kubernetes;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.C;
import static jnvdocker.lease.TestingLeases.D;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.lease.TestingLeases;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;
import jnvdocker.use.GpuUse;
import jnvdocker.words.Refusal;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.IntStream;

/** Which devices are reported to a kubelet, and which of them are healthy. */
class DeviceListTest {
    static final KubernetesPolicy POLICY =
            new KubernetesPolicy(
                    true,
                    KubernetesPolicy.RESOURCE,
                    false,
                    KubernetesPolicy.KUBELET_DIRECTORY,
                    true,
                    List.of(),
                    Optional.empty());

    private KubernetesPolicy policy = POLICY;

    private DeviceList list(String... registered) {
        return new DeviceList(
                KubernetesPolicy.RESOURCE,
                () -> policy,
                gpu -> OptionalInt.of(gpu.index() / 2),
                Set.of(registered));
    }

    private static List<String> healthy(List<Device> devices) {
        return devices.stream().filter(Device::healthy).map(Device::id).toList();
    }

    private List<String> healthy(TestingBoard board) {
        return healthy(list().of(board.board()));
    }

    @Test
    void freeGpusAreHealthyAndInOrderOfIndex() {
        assertEquals(
                List.of(
                        new Device(A.uuid(), true, OptionalInt.of(0)),
                        new Device(B.uuid(), true, OptionalInt.of(0)),
                        new Device(C.uuid(), true, OptionalInt.of(1))),
                list().of(TestingBoard.of(C, A, B).board()));
    }

    @Test
    void gpuOfAContainerIsUnhealthyAndThatOfAPodIsNot() {
        var board =
                TestingBoard.of(A, B, C, D)
                        .held(TestingLeases.held(1, ALICE, "train-7", A))
                        .held(TestingLeases.reserved(2, ALICE, B))
                        .held(TestingBoard.pod(3, C))
                        .held(TestingBoard.promised(4, D));
        assertEquals(List.of(C.uuid(), D.uuid()), healthy(board));
    }

    @Test
    void gpuOfAPodIsHealthyWhateverElseIsTrueOfIt() {
        Gpu sick = A.with(new Refusal("it is lost", "reset it"));
        policy = policy.giving(List.of("3"));
        var list = list(A.uuid(), B.uuid(), C.uuid());
        var board =
                TestingBoard.of(sick, B, C)
                        .held(TestingBoard.pod(1, sick))
                        .held(TestingBoard.pod(2, B))
                        .cordoned(B)
                        .held(TestingBoard.pod(3, C))
                        .used(use(C));
        assertEquals(List.of(A.uuid(), B.uuid(), C.uuid()), healthy(list.of(board.board())));
    }

    @Test
    void whatOthersUseOrNobodyMayHaveIsUnhealthy() {
        Gpu sick = D.with(new Refusal("it is lost", "reset it"));
        var board = TestingBoard.of(A, B, C, sick).used(use(A)).cordoned(B);
        assertEquals(List.of(C.uuid()), healthy(board));
    }

    @Test
    void whatIsKeptForTheQueueIsUnhealthy() {
        var ticket = TestingLeases.ticket(1, ALICE, new GpuRequest.Count(2));
        assertEquals(List.of(C.uuid()), healthy(TestingBoard.of(A, B, C).waiting(ticket)));
    }

    @Test
    void wholeGpuWithALeaseOnOneOfItsInstancesIsUnhealthy() {
        Gpu part = TestingLeases.part(A, 0);
        var board = TestingBoard.of(A, B).held(TestingLeases.held(1, ALICE, "train-7", part));
        assertEquals(List.of(B.uuid()), healthy(board));
    }

    @Test
    void deviceOnceListedStaysListed() {
        var list = list();
        list.of(TestingBoard.of(A, B).board());
        var later = list.of(TestingBoard.of(B).board());
        assertEquals(List.of(B.uuid(), A.uuid()), later.stream().map(Device::id).toList());
        assertEquals(List.of(B.uuid()), healthy(later));
        assertEquals(List.of(A.uuid(), B.uuid()), healthy(list.of(TestingBoard.of(A, B).board())));
    }

    @Test
    void deviceThatTheKubeletKnewBeforeStaysListed() {
        var list = list("GPU-gone", "something else", A.uuid());
        assertEquals(
                List.of(A.uuid(), "GPU-gone"), list.unseen().stream().map(Device::id).toList());
        assertEquals(List.of(), healthy(list.unseen()));
        var devices = list.of(TestingBoard.of(A).board());
        assertEquals(List.of(A.uuid(), "GPU-gone"), devices.stream().map(Device::id).toList());
        assertEquals(List.of(A.uuid()), healthy(devices));
    }

    @Test
    void gpuThatPodsDoNotGetIsNotListedUnlessItWas() {
        var list = list();
        policy = policy.giving(List.of("1", C.uuid().substring(0, 12)));
        var devices = list.of(TestingBoard.of(A, B, C).board());
        assertEquals(List.of(B.uuid(), C.uuid()), healthy(devices));
        assertEquals(2, devices.size());
        policy = policy.giving(List.of("0"));
        assertEquals(List.of(A.uuid()), healthy(list.of(TestingBoard.of(A, B, C).board())));
        assertEquals(3, list.of(TestingBoard.of(A, B, C).board()).size());
    }

    @Test
    void otherModelIsAnotherResource() {
        policy =
                new KubernetesPolicy(
                        true,
                        KubernetesPolicy.RESOURCE,
                        true,
                        POLICY.kubeletDirectory(),
                        true,
                        List.of(),
                        Optional.empty());
        Gpu t4 = new Gpu(1, B.uuid(), 1, B.pciAddress(), "Tesla T4");
        assertEquals("nvidia.com/tesla-t4", policy.resourceOf(t4));
        var list =
                new DeviceList(
                        "nvidia.com/tesla-t4", () -> policy, _ -> OptionalInt.empty(), Set.of());
        assertEquals(List.of(B.uuid()), healthy(list.of(TestingBoard.of(A, t4).board())));
        assertEquals(1, list.of(TestingBoard.of(A, t4).board()).size());
    }

    @Test
    void gpuWithoutAUuidIsNoDevice() {
        Gpu nameless = TestingLeases.gpu(0, "GPU-????????-????-????-????-????????????", 0);
        assertEquals(List.of(), list().of(TestingBoard.of(nameless).board()));
    }

    @Test
    void listOfInstancesThatComeAndGoIsBounded() {
        var list = list();
        for (int i = 0; i < 30; i++) {
            int hundred = 100 * i;
            Gpu[] parts =
                    IntStream.range(0, 100)
                            .mapToObj(n -> TestingLeases.part(A, hundred + n))
                            .toArray(Gpu[]::new);
            var devices = list.of(TestingBoard.of(parts).board());
            assertEquals(100, healthy(devices).size());
            assertTrue(devices.size() <= 1000, () -> devices.size() + " devices");
        }
    }

    private static GpuUse use(Gpu gpu) {
        return new GpuUse(
                gpu,
                GpuUse.Kind.OPEN,
                Optional.empty(),
                Optional.of(
                        new GpuUse.User(
                                new ProcessId(4712, 5), "python3", 1002, Optional.empty())));
    }
}
