package jnvdocker.command.gpu.show;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.command.gpu.view.Samples;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Tenure;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.Owners;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

class ExplanationTest {
    private static final Tenure ONCE = new Tenure(Samples.AT_NINE, 0);

    private static final String NINE = LeaseText.time(Samples.AT_NINE);

    @Test
    void heldGpuHasAHolderAReasonAndAWayOut() {
        Lease lease = Samples.held(1, "train-7", 0, 2);
        assertEquals(
                List.of(
                        "GPU 0 (GPU-5c1a0000), NVIDIA A100-SXM4-40GB, is held by alice's container"
                                + " train-7 since "
                                + NINE
                                + " (3h).",
                        "Container 3f2a9c01d4e5 of image nvidia/cuda:12.2, under claim"
                                + " 000000000111, together with GPU 2.",
                        "What keeps it: its process (pid 4711) runs.",
                        "To free it: docker stop train-7; if that is gone already: jnvdocker gpu"
                                + " release 000000000111"),
                explain(GpuStatus.State.HELD, lease)
                        .held(lease, ONCE, "its process (pid 4711) runs", Optional.empty()));
    }

    /** A name that is cut off would stop nothing. */
    @Test
    void containerWithALongNameIsStoppedByItsId() {
        Lease lease = Samples.held(1, "c".repeat(255), 0);
        String toFree =
                explain(GpuStatus.State.HELD, lease)
                        .held(lease, ONCE, "its process (pid 4711) runs", Optional.empty())
                        .getLast();
        assertTrue(toFree.startsWith("To free it: docker stop 3f2a9c01d4e5; "), toFree);
    }

    @Test
    void reservedGpuHasNoContainerYet() {
        Lease lease = Samples.reserved(1, 0);
        List<String> sentences =
                explain(GpuStatus.State.RESERVED, lease)
                        .held(lease, ONCE, "docker run (pid 4700) runs", Optional.empty());
        assertTrue(
                sentences.get(0).contains("is reserved by alice's docker run (pid 4700) since"),
                sentences::toString);
        assertEquals(
                "A container that is not known yet, of image nvidia/cuda:12.2, under claim"
                        + " 000000000111.",
                sentences.get(1));
    }

    @Test
    void freeGpuHasHadAHolder() {
        Lease last = Samples.ended(1, "train-7", Samples.AT_NINE, "it is gone", 0);
        GpuStatus status = Samples.free(0, Optional.of(Samples.AT_NINE));
        assertEquals(
                List.of(
                        "GPU 0 (GPU-5c1a0000), NVIDIA A100-SXM4-40GB, is free, idle since "
                                + NINE
                                + " (3h).",
                        "It was last held by alice's container train-7.",
                        "To take it: jnvdocker run --gpus device=0 …"),
                new Explanation(status, _ -> true, Samples.NOW).free(Optional.of(last)));
    }

    @Test
    void gpuThatNobodyHadIsFree() {
        GpuStatus status = Samples.free(0, Optional.empty());
        assertEquals(
                "GPU 0 (GPU-5c1a0000), NVIDIA A100-SXM4-40GB, is free; no earlier holder is known.",
                new Explanation(status, _ -> true, Samples.NOW).free(Optional.empty()).getFirst());
    }

    @Test
    void usedGpuSaysWhoAndWhatToDo() {
        assertEquals(
                List.of(
                        "GPU 0 (GPU-5c1a0000), NVIDIA A100-SXM4-40GB, is used by root's process"
                                + " python3 (pid 4711), which jnvdocker did not start.",
                        "What is seen: python3 (pid 4711) has /dev/nvidia0 open.",
                        "It becomes free when this has ended: kill 4711; to ignore such use, add it"
                                + " to ignore in the configuration."),
                new Explanation(Samples.used(0, false), _ -> true, Samples.NOW)
                        .free(Optional.empty()));
        assertEquals(
                List.of(
                        "GPU 0 (GPU-5c1a0000), NVIDIA A100-SXM4-40GB, is used by container plain-1,"
                                + " which jnvdocker did not start.",
                        "Container 3f2a9c01d4e5 of image cuda was given it by docker (--gpus); this"
                                + " counts even while it is idle.",
                        "Also used by python3 (pid 4711).",
                        "It becomes free when this has ended: docker stop plain-1; to ignore such"
                                + " use, add it to ignore in the configuration."),
                new Explanation(Samples.used(0, true), _ -> true, Samples.NOW)
                        .free(Optional.empty()));
    }

    @Test
    void otherUsersGetTheContactAndTheWait() {
        Lease lease = Samples.held(1, "train-7", 0);
        GpuStatus held = Samples.taken(0, GpuStatus.State.HELD, lease, "");
        assertEquals(
                "To get it: contact alice, or wait for it: jnvdocker run --gpu-wait --gpus device=0"
                        + " …",
                new Explanation(held, _ -> false, Samples.NOW)
                        .held(lease, ONCE, "x", Optional.empty())
                        .getLast());
        assertEquals(
                "It becomes free when this has ended: contact root, or wait with --gpu-wait.",
                new Explanation(Samples.used(0, false), _ -> false, Samples.NOW)
                        .free(Optional.empty())
                        .getLast());
        Lease unknown = Samples.of(lease, Owner.UNKNOWN);
        assertEquals(
                "To get it: contact its user, or wait for it: jnvdocker run --gpu-wait --gpus"
                        + " device=0 …",
                new Explanation(held, _ -> false, Samples.NOW)
                        .held(unknown, ONCE, "x", Optional.empty())
                        .getLast());
    }

    @ParameterizedTest
    @ValueSource(strings = {"com.docker.compose.project.working_dir", "devcontainer.local_folder"})
    void unknownUserIsGuessedFromTheDirectoryThatALabelNames(String label, @TempDir Path directory)
            throws IOException {
        String owner = Owners.of((Integer) Files.getAttribute(directory, "unix:uid")).name();
        assertEquals(
                "It becomes free when this has ended: contact "
                        + owner
                        + "?, or wait with --gpu-wait.",
                toEnd(Map.of(label, directory.toString())));
        assertEquals(
                "It becomes free when this has ended: contact its user, or wait with --gpu-wait.",
                toEnd(Map.of(label, "/home/nobody-has-this/train")));
    }

    private static String toEnd(Map<String, String> labels) {
        return new Explanation(Samples.used(0, true, labels), _ -> false, Samples.NOW)
                .free(Optional.empty())
                .getLast();
    }

    @Test
    void restartsAndASecondUserAreNamed() {
        Lease lease = Samples.held(1, "train-7", 0);
        GpuStatus held = Samples.taken(0, GpuStatus.State.HELD, lease, "");
        GpuStatus shared =
                new GpuStatus(
                        Samples.used(0, false).verdict(),
                        held.state(),
                        held.lease(),
                        held.idleSince(),
                        "");
        List<String> sentences =
                new Explanation(shared, _ -> true, Samples.NOW)
                        .held(
                                lease,
                                new Tenure(lease.since().minusSeconds(3600), 12),
                                "x",
                                Optional.empty());
        assertTrue(
                sentences.get(2).endsWith(" (4h), and was restarted 12 times."),
                sentences::toString);
        assertEquals("It is used without a lease, too, by python3 (pid 4711).", sentences.get(4));
    }

    @Test
    void missingGpuIsSaidToBeMissing() {
        Lease lease = Samples.held(1, "train-7", 0);
        List<String> sentences =
                explain(GpuStatus.State.MISSING, lease)
                        .held(lease, ONCE, "its process (pid 4711) runs", Optional.empty());
        assertTrue(
                sentences
                        .getFirst()
                        .startsWith(
                                "GPU 0 (GPU-5c1a0000), which the driver no longer shows, is held by"
                                        + " alice's"),
                sentences::toString);
    }

    private static Explanation explain(GpuStatus.State state, Lease lease) {
        return new Explanation(Samples.taken(0, state, lease, ""), _ -> true, Samples.NOW);
    }
}
