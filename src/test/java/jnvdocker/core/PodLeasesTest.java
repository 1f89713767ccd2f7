package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.decision.DecisionListener;
import jnvdocker.decision.RefusalReason;
import jnvdocker.grant.Grants;
import jnvdocker.holder.Evidence;
import jnvdocker.holder.Leftovers;
import jnvdocker.holder.UnmanagedScan;
import jnvdocker.host.Gpu;
import jnvdocker.kubernetes.PodKind;
import jnvdocker.kubernetes.PodLeases;
import jnvdocker.kubernetes.PodReport;
import jnvdocker.kubernetes.PodStart;
import jnvdocker.lease.Claim;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.lease.TestingLeases;
import jnvdocker.lease.Ticket;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.AllowedDevices;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.MemorySize;
import jnvdocker.use.GpuAccess;
import jnvdocker.use.GpuUse;
import jnvdocker.use.MemoryUsers;
import jnvdocker.use.RunningContainer;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;

/** The leases of pods, by a kubelet's requests, its lists and the running processes. */
@Attack(
        by = "any user",
        what = "has a GPU open that a pod waits for",
        result = "all processes are scanned once a second, not ten times")
class PodLeasesTest extends SimulatedWorldTest {
    private static final String UID = "928cd30c-f6b5-4009-8df9-e7341ebd34a1";
    private static final String CGROUP =
            "/sys/fs/cgroup/devices/kubepods/besteffort/pod" + UID + "/0e16cb5176f4";
    private static final Origin.Pod OLD = new Origin.Pod(UID, "team-a", "old");
    private static final Origin.Pod NEW =
            new Origin.Pod("7ab50e71-2f7c-4c3d-9ed8-1f50f7a7b8c1", "team-a", "new");
    private static final Duration MARGIN = Duration.ofSeconds(6);

    private ProcessId kubelet;
    private SimulatedPods simulated;

    @Override
    SimulatedFeature feature(SimulatedWorld its) {
        simulated = new SimulatedPods(its);
        return simulated;
    }

    @BeforeEach
    void open() throws IOException {
        kubelet = world.machine.spawn();
    }

    private PodLeases pods() {
        return simulated.leases();
    }

    private Leases leases() {
        return world.daemon.parts().leases();
    }

    private List<Lease> live() throws IOException {
        return world.daemon.parts().registry().live();
    }

    private Gpu gpu(int index) {
        return world.gpus().get(index);
    }

    /** A container of a pod, whose cgroup the kubelet has made. */
    private List<Lease> start(Origin.Pod pod, String container, Gpu... gpus) throws Exception {
        world.machine.cgroups.add(CGROUP.replace(UID, pod.uid()));
        return take(pod, container, gpus);
    }

    private List<Lease> take(Origin.Pod pod, String container, Gpu... gpus) throws Exception {
        return pods().take(
                        new PodStart(List.of(gpus), pod, Optional.of(container), kubelet),
                        Duration.ofSeconds(25));
    }

    private ProcessId spawnIn(String cgroup) {
        return world.machine.spawn(Optional.empty(), Optional.of(cgroup));
    }

    /** The kubelet lists a GPU with these pods, and no other GPU. */
    private void lists(Gpu gpu, Origin.Pod... listed) throws IOException {
        reported(Map.of(gpu.uuid(), Set.of(listed)), Map.of());
    }

    private void reported(
            Map<String, Set<Origin.Pod>> listed, Map<String, Set<Origin.Pod>> remembered)
            throws IOException {
        pods().report().update(pods().report().observe(), listed, remembered);
    }

    private Claim docker(ProcessId client, Gpu gpu) throws Exception {
        return leases().runs()
                .take(
                        new Request(
                                new GpuRequest.Devices(List.of(gpu.uuid())),
                                Set.of(),
                                TestingLeases.ALICE,
                                client,
                                new Origin.HostProcess("train"),
                                Optional.empty()),
                        Optional.empty())
                .keep()
                .orElseThrow();
    }

    private Claim program(ProcessId client, Gpu gpu) throws Exception {
        Claim claim = docker(client, gpu);
        LeaseRegistry registry = world.daemon.parts().registry();
        Lease lease = registry.liveOf(claim.id()).orElseThrow();
        Holder holder = Holder.of(client, "/sys/fs/cgroup/jnvdocker-" + claim.id());
        registry.decide(leases -> leases.hold(lease, holder));
        return claim;
    }

    @Test
    void podThatStartsTakesWhatTheKubeletHasReserved() throws Exception {
        pods().reserve(List.of(gpu(0)), kubelet);
        Lease reserved = live().getFirst();
        assertEquals(GpuStatus.State.RESERVED, leases().holders().state(reserved));
        assertEquals("a pod of Kubernetes", LeaseText.holder(reserved));
        spawnIn(CGROUP);
        Lease lease = start(OLD, "main", gpu(0)).getFirst();
        assertEquals(reserved.id(), lease.id());
        assertEquals(List.of(lease), live());
        assertEquals(GpuStatus.State.HELD, leases().holders().state(lease));
        assertEquals("pod team-a/old", LeaseText.holder(lease));
        assertEquals(List.of(lease), pods().of(UID));
    }

    /** After a reboot of the host, or when the registry was lost. */
    @Test
    void podThatStartsNeedsNoReservation() throws Exception {
        assertEquals(2, start(OLD, "main", gpu(0), gpu(2)).size());
        assertEquals(2, live().size());
    }

    @Test
    void containersOfAPodShareItsLeases() throws Exception {
        Lease first = start(OLD, "init", gpu(0)).getFirst();
        Lease second = start(OLD, "main", gpu(0), gpu(1)).getFirst();
        assertEquals(first.id(), second.id());
        assertEquals(2, live().size());
        assertEquals(List.of("init", "main"), second.holder().details());
        assertEquals(2, start(OLD, "main", gpu(0), gpu(1)).size());
        assertEquals(2, live().size());
    }

    @Test
    void nothingIsReservedIfOneIsHeld() throws Exception {
        program(world.machine.spawn(), gpu(1));
        var error =
                assertThrows(
                        RefusedException.class,
                        () -> pods().reserve(List.of(gpu(0), gpu(1)), kubelet));
        assertTrue(
                error.getMessage().contains("is held by alice's process train (pid "),
                error::getMessage);
        assertEquals(1, live().size());
    }

    /** It gets them in PreStartContainer, when they are free: no second row for a GPU. */
    @Test
    void gpusThatEndSoonAreAcceptedAndNotReserved() throws Exception {
        ProcessId client = world.machine.spawn();
        docker(client, gpu(0));
        start(OLD, "main", gpu(1));
        spawnIn(CGROUP);
        pods().reserve(List.of(gpu(0), gpu(1), gpu(2)), kubelet);
        assertEquals(3, live().size());
        var error = assertThrows(RefusedException.class, () -> start(NEW, "main", gpu(0)));
        assertTrue(error.getMessage().contains("alice's gpu run"), error::getMessage);
        world.machine.end(client);
        assertEquals(1, start(NEW, "main", gpu(0)).size());
    }

    /** Force-deleted: the kubelet gives its GPU away, and its processes go on. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                CGROUP,
                "/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"
                        + "928cd30c_f6b5_4009_8df9_e7341ebd34a1.slice/cri-containerd-0e16.scope"
            })
    void podWaitsUntilNothingOfTheLastOneRuns(String cgroup) throws Exception {
        ProcessId process = spawnIn(cgroup);
        start(OLD, "main", gpu(0));
        pods().reserve(List.of(gpu(0)), kubelet);
        lists(gpu(0), NEW);
        var error = assertThrows(RefusedException.class, () -> start(NEW, "main", gpu(0)));
        assertTrue(
                error.getMessage().contains("is held by pod team-a/old since"), error::getMessage);
        assertEquals(1, live().size());
        world.machine.end(process);
        Lease lease = start(NEW, "main", gpu(0)).getFirst();
        assertEquals("pod team-a/new", LeaseText.holder(lease));
        assertEquals(1, live().size());
        assertEquals(
                "the kubelet no longer lists it, and nothing of the pod runs",
                world.lastEvidence());
    }

    /**
     * {@code cgroupsPerQOS: false}: containers are in {@code /k8s.io}, and nothing shows their
     * pods.
     */
    @Test
    void podWithoutACgroupOfItsOwnIsRefused() throws Exception {
        pods().reserve(List.of(gpu(0)), kubelet);
        spawnIn("/sys/fs/cgroup/devices/k8s.io/0e16cb5176f4");
        var error = assertThrows(RefusedException.class, () -> take(OLD, "main", gpu(0)));
        assertTrue(
                error.getMessage()
                        .contains("; set cgroupsPerQOS to true in the kubelet's configuration"),
                error::getMessage);
        assertEquals(Optional.of(error.refusal()), pods().fault());
        assertEquals(GpuStatus.State.RESERVED, leases().holders().state(live().getFirst()));
        spawnIn(CGROUP);
        assertEquals(1, take(OLD, "main", gpu(0)).size());
        assertEquals(Optional.empty(), pods().fault());
    }

    /** CRI-O keeps no process for a pod: the first one is that of the container. */
    @Test
    void podWhoseCgroupIsStillEmptyStarts() throws Exception {
        world.machine.cgroups.add(CGROUP);
        assertEquals(1, take(OLD, "main", gpu(0)).size());
    }

    /** No cgroup can be its own as far as is known, so that no empty one is its end. */
    @Test
    void podThatWasNeverKnownKeepsItsGpu() throws Exception {
        Lease lease = start(Origin.Pod.UNKNOWN, "main", gpu(0)).getFirst();
        reported(Map.of(), Map.of());
        assertEquals(List.of(lease), live());
        assertEquals(
                "the kubelet does not name the pod, so that its processes are not known",
                leases().holders().explain(lease));
        assertThrows(RefusedException.class, () -> start(NEW, "main", gpu(0)));
        leases().releases().byForce(lease.claim().id(), "root: to see");
        assertEquals(1, start(NEW, "main", gpu(0)).size());
    }

    /** Docker makes cgroups of any name for its users. */
    @Test
    void endOfACgroupWithThePodsNameIsNotThePodsEnd() throws Exception {
        ProcessId other = spawnIn("/sys/fs/cgroup/devices/another/pod" + UID + "/0e16cb5176f4");
        start(OLD, "main", gpu(0));
        ProcessId process = spawnIn(CGROUP);
        lists(gpu(0), OLD);
        world.machine.end(other);
        reported(Map.of(), Map.of());
        assertEquals(1, live().size());
        world.machine.end(process);
        reported(Map.of(), Map.of());
        assertEquals(List.of(), live());
    }

    /** Between the restarts of a container, or before its first start. */
    @Test
    void podThatTheKubeletListsKeepsItsGpuWithoutAnyProcess() throws Exception {
        ProcessId process = spawnIn(CGROUP);
        start(OLD, "main", gpu(0));
        lists(gpu(0), OLD);
        world.machine.end(process);
        lists(gpu(0), OLD);
        assertEquals(1, live().size());
        reported(Map.of(), Map.of());
        assertEquals(List.of(), live());
    }

    @Test
    void silentKubeletEndsNothing() throws Exception {
        reported(Map.of(), Map.of());
        ProcessId process = spawnIn(CGROUP);
        start(OLD, "main", gpu(0));
        world.machine.end(process);
        leases().live();
        world.daemon.parts().reconciler().sweep();
        assertEquals(1, live().size());
        world.daemon.kill();
        world.daemon.start();
        assertEquals(1, live().size());
    }

    /** The answer may have been written before the lease was. */
    @Test
    void listThatWasBegunBeforeTheLeaseSaysNothingOfIt() throws Exception {
        PodReport.Sight before = pods().report().observe();
        start(OLD, "main", gpu(0));
        pods().report().update(before, Map.of(), Map.of());
        assertEquals(1, live().size());
    }

    @Test
    void reservationEndsIfALaterListHasNoPodForIt() throws Exception {
        pods().reserve(List.of(gpu(0), gpu(1)), kubelet);
        reported(Map.of(), Map.of());
        assertEquals(2, live().size());
        world.machine.pass(MARGIN);
        lists(gpu(0), OLD);
        assertEquals(1, live().size());
        assertEquals("the kubelet has given it to no pod", world.lastEvidence());
    }

    @Test
    void reservationIsNamedAsSoonAsTheKubeletListsItsPod() throws Exception {
        pods().reserve(List.of(gpu(0), gpu(1)), kubelet);
        assertEquals("kubernetes", live().getFirst().claim().owner().name());
        lists(gpu(0), OLD);
        Lease reserved = live().getFirst();
        assertEquals(GpuStatus.State.RESERVED, leases().holders().state(reserved));
        assertEquals("pod team-a/old", LeaseText.holder(reserved));
        assertEquals("kubernetes:team-a", reserved.claim().owner().name());
        assertEquals("a pod of Kubernetes", LeaseText.holder(live().getLast()));
        assertEquals(List.of(), pods().of(UID));
        lists(gpu(0), NEW);
        assertEquals("pod team-a/new", LeaseText.holder(live().getFirst()));
        Lease lease = start(Origin.Pod.UNKNOWN, "main", gpu(0)).getFirst();
        assertEquals("pod team-a/new", LeaseText.holder(lease));
    }

    @Test
    void podsOfANamespaceHaveALimitOfTheirOwn() throws Exception {
        world.lab.namespaces(OptionalInt.of(2));
        spawnIn(CGROUP);
        start(OLD, "main", gpu(0));
        pods().reserve(List.of(gpu(1), gpu(2)), kubelet);
        reported(Map.of(gpu(1).uuid(), Set.of(NEW), gpu(2).uuid(), Set.of(NEW)), Map.of());
        var error = assertThrows(RefusedException.class, () -> start(NEW, "main", gpu(1), gpu(2)));
        assertEquals(
                "kubernetes:team-a has 1 of the 2 GPUs that the pods of a namespace, all together,"
                        + " may have (max_gpus_per_namespace): pod team-a/old holds GPU 0; wait, or"
                        + " delete the pod",
                error.getMessage());
        world.lab.namespaces(OptionalInt.of(1));
        error = assertThrows(RefusedException.class, () -> start(NEW, "main", gpu(1), gpu(2)));
        assertTrue(
                error.getMessage().startsWith("this container requests 2 GPUs, and the pods of"),
                error::getMessage);
        world.lab.namespaces(OptionalInt.of(2));
        Origin.Pod other = new Origin.Pod(NEW.uid(), "team-b", "new");
        assertEquals(2, start(other, "main", gpu(1), gpu(2)).size());
        assertEquals(1, start(OLD, "main", gpu(0)).size());
    }

    private List<Ticket> tickets() throws IOException {
        return world.daemon.parts().registry().tickets();
    }

    private Request waiting(ProcessId client) {
        return new Request(
                new GpuRequest.Devices(List.of(gpu(0).uuid())),
                Set.of(),
                TestingLeases.ALICE,
                client,
                new Origin.HostProcess("train"),
                Optional.empty());
    }

    /** Its sandbox runs, and the kubelet starts its container again and again. */
    @Test
    void podThatWaitsIsNotPassedByClientsThatComeLater() throws Exception {
        ProcessId old = spawnIn(CGROUP);
        start(OLD, "main", gpu(0));
        ProcessId sandbox = spawnIn(CGROUP.replace(UID, NEW.uid()));
        assertThrows(RefusedException.class, () -> start(NEW, "main", gpu(0)));
        assertThrows(RefusedException.class, () -> start(NEW, "main", gpu(0)));
        assertEquals(
                List.of(sandbox),
                tickets().stream().map(ticket -> ticket.request().client()).toList());
        assertEquals("pod team-a/new", LeaseText.purpose(tickets().getFirst().request()));
        ProcessId client = world.machine.spawn();
        world.daemon.parts().queue().enter(waiting(client), false, 0, Optional.empty());
        world.machine.end(old);
        reported(Map.of(), Map.of());
        world.daemon.parts().queueKeeper().tick();
        assertEquals(List.of(), live());
        ProcessId other = world.machine.spawn();
        var error = assertThrows(RefusedException.class, () -> docker(other, gpu(0)));
        assertTrue(
                error.getMessage()
                        .contains(
                                "is kept for kubernetes:team-a's pod team-a/new (pid "
                                        + sandbox.pid()),
                error::getMessage);
        assertEquals(1, start(NEW, "main", gpu(0)).size());
        assertEquals(
                List.of(client),
                tickets().stream().map(ticket -> ticket.request().client()).toList());
    }

    @Test
    void podWaitsForClientsThatCameBefore() throws Exception {
        ProcessId old = spawnIn(CGROUP);
        start(OLD, "main", gpu(0));
        ProcessId client = world.machine.spawn();
        world.daemon.parts().queue().enter(waiting(client), false, 0, Optional.empty());
        spawnIn(CGROUP.replace(UID, NEW.uid()));
        assertThrows(RefusedException.class, () -> start(NEW, "main", gpu(0)));
        world.machine.end(old);
        reported(Map.of(), Map.of());
        var error = assertThrows(RefusedException.class, () -> start(NEW, "main", gpu(0)));
        assertTrue(error.getMessage().contains(" is kept for alice (pid "), error::getMessage);
        world.daemon.parts().queueKeeper().tick();
        assertEquals(client, live().getFirst().holder().process());
    }

    @Test
    void podThatIsDeletedWhileItWaitsHasNoPlace() throws Exception {
        spawnIn(CGROUP);
        start(OLD, "main", gpu(0));
        ProcessId sandbox = spawnIn(CGROUP.replace(UID, NEW.uid()));
        assertThrows(RefusedException.class, () -> start(NEW, "main", gpu(0)));
        world.daemon.kill();
        world.daemon.start();
        assertEquals(1, tickets().size());
        world.machine.end(sandbox);
        world.machine.pass(Duration.ofSeconds(2));
        world.daemon.parts().queueKeeper().tick();
        assertEquals(List.of(), tickets());
    }

    /** By a resource claim for an amount of the memory of GPU 1, which has 39.5 GiB for shares. */
    private Lease share(Origin.Pod pod, String claim, String amount) throws Exception {
        world.machine.cgroups.add(CGROUP.replace(UID, pod.uid()));
        Gpu shared = gpu(1);
        MemorySize memory = MemorySize.parse(amount).orElseThrow();
        return pods().take(
                        new PodStart(
                                List.of(shared),
                                Map.of(shared.uuid(), memory),
                                pod,
                                Optional.of("claim:" + claim),
                                kubelet),
                        Duration.ofSeconds(25))
                .getFirst();
    }

    @Test
    void claimsOfPodsShareAGpuAsFarAsItsMemoryGoes() throws Exception {
        world.lab.namespaces(OptionalInt.of(1));
        Lease one = share(OLD, "a", "10GiB");
        Lease two = share(OLD, "b", "10GiB");
        share(NEW, "c", "10GiB");
        assertEquals(one, share(OLD, "a", "10GiB"));
        assertEquals(two, share(OLD, "b", "10GiB"));
        assertEquals(3, live().size());
        var error = assertThrows(RefusedException.class, () -> share(NEW, "d", "10GiB"));
        assertEquals(
                "no shareable GPU has 10GiB left (GPU 1: 10.2G of 42.4G); wait, or delete the pod",
                error.getMessage());
        for (Origin.Pod pod : List.of(OLD, NEW)) {
            error = assertThrows(RefusedException.class, () -> start(pod, "main", gpu(1)));
            assertTrue(error.getMessage().contains(" is shared by pod team-a/"), error::getMessage);
        }
        assertThrows(RefusedException.class, () -> docker(world.machine.spawn(), gpu(1)));
        assertEquals(3, live().size());
    }

    @Test
    void sharesCountAsTheirPartsForTheLimitOfANamespace() throws Exception {
        world.lab.namespaces(OptionalInt.of(1));
        share(OLD, "a", "10GiB");
        var error = assertThrows(RefusedException.class, () -> start(NEW, "main", gpu(0)));
        assertTrue(
                error.getMessage().startsWith("kubernetes:team-a has 0.25 of the 1 GPU that"),
                error::getMessage);
        share(NEW, "b", "29GiB");
        world.lab.namespaces(OptionalInt.of(0));
        Origin.Pod third = new Origin.Pod(NEW.uid().replace('7', '8'), "team-a", "third");
        error = assertThrows(RefusedException.class, () -> share(third, "c", "512MiB"));
        assertTrue(
                error.getMessage().startsWith("this container requests 0.01 GPUs, and the pods of"),
                error::getMessage);
    }

    @Test
    void numberOfANamespacesSharesHasALimitToo() throws Exception {
        world.lab.namespaces(OptionalInt.of(1));
        for (int i = 0; i < 16; i++) {
            share(i % 2 == 0 ? OLD : NEW, "c" + i, "256MiB");
        }
        var error = assertThrows(RefusedException.class, () -> share(OLD, "c16", "256MiB"));
        assertTrue(
                error.getMessage()
                        .startsWith("kubernetes:team-a has 16 of the 16 shares of 1 GPU that"),
                error::getMessage);
    }

    @Test
    void privilegedPodIsNoted() throws Exception {
        spawnIn(CGROUP);
        start(OLD, "main", gpu(0));
        assertEquals("", leases().board(world.gpus()).gpus().getFirst().note());
        world.machine.privileged.add(live().getFirst().holder().cgroup().orElseThrow());
        assertEquals(
                "privileged: can open every GPU",
                leases().board(world.gpus()).gpus().getFirst().note());
    }

    /** The kubelet does not list an init container, and remembers pods that it has rejected. */
    @Test
    void reservationOfAPodThatOnlyTheKubeletsFileNamesLastsWhileThePodRuns() throws Exception {
        pods().reserve(List.of(gpu(0)), kubelet);
        ProcessId pause = spawnIn(CGROUP);
        world.machine.pass(MARGIN);
        Map<String, Set<Origin.Pod>> remembered =
                Map.of(gpu(0).uuid(), Set.of(new Origin.Pod(UID, "", "")));
        reported(Map.of(), remembered);
        assertEquals(1, live().size());
        world.machine.end(pause);
        reported(Map.of(), remembered);
        assertEquals(List.of(), live());
    }

    @Test
    void podIsNamedAsSoonAsTheKubeletReportsIt() throws Exception {
        start(new Origin.Pod(UID, "", ""), "init", gpu(0));
        assertEquals("pod " + UID, LeaseText.holder(live().getFirst()));
        spawnIn(CGROUP);
        lists(gpu(0), OLD);
        assertEquals("pod team-a/old", LeaseText.holder(live().getFirst()));
        assertEquals(1, pods().of(UID).size());
    }

    @Test
    void podThatIsNotKnownHoldsItsGpuAndIsKnownLater() throws Exception {
        start(Origin.Pod.UNKNOWN, "main", gpu(0));
        assertThrows(RefusedException.class, () -> start(OLD, "main", gpu(0)));
        spawnIn(CGROUP);
        lists(gpu(0), OLD);
        assertEquals(1, start(OLD, "main", gpu(0)).size());
        assertEquals("pod team-a/old", LeaseText.holder(live().getFirst()));
    }

    @Test
    void lostRegistryIsRestoredFromTheKubeletAndTheCgroups() throws Exception {
        spawnIn(CGROUP);
        start(OLD, "main", gpu(0));
        world.daemon.kill();
        world.disk.loseRegistry(false);
        world.daemon.start();
        assertEquals(List.of(), live());
        lists(gpu(0), OLD);
        assertEquals("pod team-a/old", LeaseText.holder(live().getFirst()));
        lists(gpu(1), NEW);
        assertEquals(1, live().size());
    }

    @Test
    void leaseThatWasReleasedByForceIsNotRestoredBeforeTheNextStart() throws Exception {
        spawnIn(CGROUP);
        Lease lease = start(OLD, "main", gpu(0)).getFirst();
        leases().releases().byForce(lease.claim().id(), "root: to see");
        lists(gpu(0), OLD);
        pods().report().restore(Map.of(gpu(0).uuid(), Set.of(OLD)));
        assertEquals(List.of(), live());
        start(OLD, "main", gpu(0));
        assertEquals(1, live().size());
    }

    private record Grants(List<Lease> seen) implements DecisionListener {
        @Override
        public void granted(Lease lease) {
            seen.add(lease);
        }

        @Override
        public void recovered(Lease lease) {}

        @Override
        public void released(Lease lease, Instant at, String evidence) {}

        @Override
        public void refused(Owner owner, String purpose, Refusal why, RefusalReason reason) {}
    }

    /** Its sandbox runs before the kubelet requests a container's start. */
    @Test
    void podThatIsNextIsGivenTheGpuAtTheEndOfTheOtherAndCheckedAtItsStart() throws Exception {
        ProcessId process = spawnIn(CGROUP);
        start(OLD, "main", gpu(0));
        spawnIn(CGROUP.replace(UID, NEW.uid()));
        lists(gpu(0), OLD, NEW);
        assertEquals(OLD, live().getFirst().claim().origin());
        world.machine.end(process);
        List<Lease> granted = new ArrayList<>();
        leases().decisions().addListener(new Grants(granted));
        lists(gpu(0), NEW);
        assertEquals(live(), granted);
        assertEquals(NEW, granted.getFirst().claim().origin());
        world.uses.openOnHost(0);
        var error = assertThrows(RefusedException.class, () -> start(NEW, "main", gpu(0)));
        assertTrue(error.getMessage().contains(" is used by "), error::getMessage);
        world.uses.end();
        start(NEW, "main", gpu(0));
        world.uses.openOnHost(0);
        assertEquals(1, start(NEW, "main", gpu(0)).size());
    }

    /** Each scan reads the descriptors of all processes of the host. */
    @Test
    void podThatWaitsForAProcessHasTheHostScannedOnceASecond() throws Exception {
        world.uses.openOnHost(0);
        int before = world.uses.scans();
        assertThrows(RefusedException.class, () -> start(OLD, "main", gpu(0)));
        assertTrue(world.uses.scans() - before <= 27, () -> world.uses.scans() + " scans");
    }

    /** The kubelet has forgotten it: only its devices cgroup shows it. */
    @Test
    void lostLeaseOfAPodThatWasDeletedByForceIsRestored() throws Exception {
        ProcessId process = spawnIn(CGROUP);
        world.machine.allowed.add(
                new AllowedDevices(CGROUP, new TreeSet<>(List.of(gpu(2).minor())), process));
        world.daemon.kill();
        world.disk.loseRegistry(false);
        world.daemon.start();
        pods().report().restore(Map.of());
        Lease lease = live().getFirst();
        assertEquals("pod " + UID, LeaseText.holder(lease));
        assertTrue(lease.isOf(gpu(2).uuid()));
        reported(Map.of(), Map.of());
        assertEquals(1, live().size());
        world.machine.end(process);
        reported(Map.of(), Map.of());
        assertEquals(List.of(), live());
    }

    @Test
    void podsKeepTheirGpusWhileTheyRunWhenNoKubeletIsServedAnyMore() throws Exception {
        pods().reserve(List.of(gpu(1)), kubelet);
        ProcessId process = spawnIn(CGROUP);
        start(OLD, "main", gpu(0));
        pods().report().stop();
        assertEquals(1, live().size());
        world.machine.end(process);
        world.daemon.parts().reconciler().sweep();
        assertEquals(List.of(), live());
    }

    @Test
    void restartOfTheHostIsTheEnd() throws Exception {
        start(OLD, "main", gpu(0));
        world.daemon.kill();
        world.machine.boot();
        world.daemon.start();
        assertEquals(List.of(), live());
        assertEquals("the host was restarted", world.lastEvidence());
        assertEquals(1, start(OLD, "main", gpu(0)).size());
    }

    @Test
    void restartedDaemonKnowsPodsAndReservations() throws Exception {
        pods().reserve(List.of(gpu(0)), kubelet);
        spawnIn(CGROUP);
        start(OLD, "main", gpu(1));
        List<Lease> before = live();
        world.daemon.kill();
        world.daemon.start();
        assertEquals(before, live());
    }

    @Test
    void refusalsNameThePodThatHasTheGpu() throws Exception {
        spawnIn(CGROUP);
        start(OLD, "main", gpu(0));
        var error =
                assertThrows(RefusedException.class, () -> docker(world.machine.spawn(), gpu(0)));
        assertTrue(
                error.getMessage().contains("is held by pod team-a/old since"), error::getMessage);
    }

    /** Behind cri-dockerd it is docker that has given a pod's container its nodes. */
    @Test
    void dockersContainerInThePodsCgroupIsThePod() throws Exception {
        ProcessId init = spawnIn(CGROUP);
        start(OLD, "main", gpu(0));
        Evidence evidence =
                new Evidence(
                        world.machine,
                        world.machine.bootId(),
                        state,
                        List.of(new PodKind(world.machine)));
        UnmanagedScan scan =
                new UnmanagedScan(
                        world.uses,
                        world.daemon.parts().registry(),
                        evidence,
                        world.daemon.parts().unleased(),
                        new Leftovers(evidence, MemoryUsers.UNKNOWN));
        GpuUse its = given(gpu(0), init);
        GpuUse anothers = given(gpu(0), world.machine.spawn());
        assertEquals(
                Map.of(gpu(0).uuid(), List.of(anothers)),
                scan.assign(List.of(its, anothers), live()).uses());
    }

    @Test
    void podsAreCountedApartFromUnknownUsers() throws Exception {
        start(OLD, "main", gpu(0), gpu(1));
        leases().runs()
                .take(
                        new Request(
                                new GpuRequest.Count(1),
                                Set.of(),
                                Owner.UNKNOWN,
                                world.machine.spawn(),
                                new Origin.HostProcess("train"),
                                Optional.empty()),
                        Optional.empty())
                .keep();
        world.machine.pass(Duration.ofMinutes(1));
        assertEquals(
                List.of("kubernetes:team-a 2", "somebody 0"),
                leases().gpuTime(Instant.EPOCH, Optional.empty()).users().stream()
                        .map(use -> use.owner().name() + " " + use.leases())
                        .toList());
    }

    private static GpuUse given(Gpu gpu, ProcessId init) {
        RunningContainer container =
                new RunningContainer(
                        "c".repeat(60) + init.pid(),
                        "k8s_main_old_team-a",
                        "cuda",
                        Optional.of(init),
                        Map.of(),
                        List.of(),
                        GpuAccess.NONE);
        return new GpuUse(gpu, GpuUse.Kind.NODE, Optional.of(container), Optional.empty());
    }
}
