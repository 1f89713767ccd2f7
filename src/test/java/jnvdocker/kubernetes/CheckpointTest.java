package jnvdocker.kubernetes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.Set;

/** The kubelet's file, as real ones have written it, and as nobody should. */
@Attack(
        by = "a kubelet",
        what =
                "writes a file or answers with 15 MB of brackets, or a pipe, half a file,"
                        + " 200,000 devices",
        result = "the daemon lives, with 128 MB; pods keep their GPUs")
class CheckpointTest {
    private static final String GPU_0 = "GPU-5c1a0000-9a1b-4d3e-8f70-000000000000";
    private static final String GPU_1 = "GPU-5c1a1003-9a1b-4d3e-8f70-000000000001";
    private static final String UID = "33602dd8e7472556adb8043f750b256e";

    @TempDir Path kubelet;
    private Path file;

    @BeforeEach
    void lay() throws IOException {
        file = kubelet.resolve("device-plugins/kubelet_internal_checkpoint");
        Files.createDirectories(file.getParent());
    }

    private Checkpoint recorded(String name) throws IOException {
        try (InputStream in = getClass().getResourceAsStream(name)) {
            Files.write(file, in.readAllBytes());
        }
        return Checkpoint.read(kubelet);
    }

    private Checkpoint written(String text) throws IOException {
        Files.writeString(file, text);
        return Checkpoint.read(kubelet);
    }

    @Test
    void realOneTellsPodAndContainerAndNodes() throws IOException {
        Checkpoint checkpoint = recorded("one-pod.json");
        assertEquals(
                List.of(
                        new Checkpoint.Entry(
                                UID,
                                "main",
                                "nvidia.com/gpu",
                                Set.of(GPU_0),
                                List.of(
                                        "/dev/nvidia0",
                                        "/dev/nvidiactl",
                                        "/dev/nvidia-uvm",
                                        "/dev/nvidia-uvm-tools"))),
                checkpoint.entries());
        assertEquals(4, checkpoint.registered().get("nvidia.com/gpu").size());
    }

    @Test
    void resourceWithoutGpusIsLeftOut() throws IOException {
        Checkpoint checkpoint = recorded("two-resources.json");
        assertEquals(Set.of("nvidia.com/gpu"), checkpoint.registered().keySet());
        assertEquals(Set.of(GPU_0, GPU_1), checkpoint.entries().getFirst().ids());
    }

    @Test
    void devicesOfSeveralNumaNodesAreOneSet() throws IOException {
        Checkpoint checkpoint = written(entry("{\"0\":[\"GPU-a\"],\"1\":[\"GPU-b\",\"c\"]}", ""));
        assertEquals(Set.of("GPU-a", "GPU-b"), checkpoint.entries().getFirst().ids());
    }

    @Test
    void olderKubeletsWriteOneList() throws IOException {
        Checkpoint checkpoint = written(entry("[\"GPU-a\",\"MIG-b\"]", ""));
        assertEquals(Set.of("GPU-a", "MIG-b"), checkpoint.entries().getFirst().ids());
    }

    @Test
    void kubeletWithoutDevicesHasNoFile() throws IOException {
        assertEquals(Checkpoint.NONE, Checkpoint.read(kubelet));
        assertEquals(Checkpoint.NONE, Checkpoint.read(kubelet.resolve("nowhere")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"{}", "[]", "1", "{\"Data\":[1]}", "{\"Data\":{\"x\":1}}"})
    void otherTextIsIgnored(String text) throws IOException {
        assertEquals(List.of(), written(text).entries());
    }

    @ParameterizedTest
    @ValueSource(strings = {"{\"Data\":{", "", "\0\0\0\0", "{}}", "{\"Data\":{}} x"})
    void halfAFileIsAnError(String text) {
        refused(text, "is ");
    }

    private void refused(String text, String why) {
        var e = assertThrows(MalformedCheckpointException.class, () -> written(text));
        assertTrue(e.getMessage().startsWith(file + " " + why), e::getMessage);
    }

    @Test
    void hugeFileIsNotRead() throws IOException {
        try (var huge = new RandomAccessFile(file.toFile(), "rw")) {
            huge.setLength(1L << 32);
        }
        var e = assertThrows(IOException.class, () -> Checkpoint.read(kubelet));
        assertTrue(e.getMessage().contains("is longer than"), e::getMessage);
    }

    @Test
    void whatNoKubeletWritesIsRefused() {
        refused("[".repeat(1000) + "]".repeat(1000), "has longer or deeper parts");
        refused(entry("[\"GPU-a\"]", "A".repeat(3 << 20)), "has longer or deeper parts");
        String one = "{\"PodUID\":\"%s\",\"DeviceIDs\":[\"GPU-a\"]}".formatted(UID);
        String many = String.join(",", Collections.nCopies(3000, one));
        refused("{\"Data\":{\"PodDeviceEntries\":[" + many + "]}}", "has more than 2048");
    }

    /** As of a plugin that gives out memory by the MiB. */
    @Test
    void devicesOfOthersTakeNoRoom() throws IOException {
        String ids = "\"GPU-5c1a0000-_-%d\",".formatted(1).repeat(200_000) + "\"x\"";
        String others = "{\"Data\":{\"RegisteredDevices\":{\"x.com/mem\":[%s]}}}".formatted(ids);
        assertEquals(Set.of("GPU-5c1a0000-_-1"), written(others).registered().get("x.com/mem"));
        StringBuilder list = new StringBuilder();
        for (int i = 0; i < 5000; i++) {
            list.append(i == 0 ? "" : ",").append("\"GPU-5c1a0000-_-").append(i).append('"');
        }
        assertEquals(List.of(), written(entry("[" + list + "]", "")).entries());
    }

    /** Opening a pipe would block for ever. */
    @Test
    void onlyAFileOfTheKubeletsIsRead() throws Exception {
        assertEquals(0, new ProcessBuilder("mkfifo", file.toString()).start().waitFor());
        assertTrue(fault().contains("is not a regular file"), this::fault);
        Files.delete(file);
        Path other = Files.writeString(kubelet.resolve("other"), "{}");
        Files.createSymbolicLink(file, other);
        assertTrue(fault().contains("is not a regular file"), this::fault);
        Files.delete(file);
        Files.move(other, file);
        assertEquals(List.of(), Checkpoint.read(kubelet).entries());
        Files.setPosixFilePermissions(
                file.getParent(), PosixFilePermissions.fromString("rwxrwxr-x"));
        assertTrue(fault().contains("users other than root can write to "), this::fault);
    }

    private String fault() {
        return assertThrows(IOException.class, () -> Checkpoint.read(kubelet)).getMessage();
    }

    @ParameterizedTest
    @ValueSource(strings = {"../../x", "", "a/b", "0123456789abcdef 1", "ABCDEFGH"})
    void uidThatIsNoneIsLeftOut(String uid) throws IOException {
        assertEquals(List.of(), written(entry("[\"GPU-a\"]", "").replace(UID, uid)).entries());
    }

    @ParameterizedTest
    @ValueSource(strings = {"?", "AAAA", "Gv////8P", "Gg=="})
    void answerThatIsNoneHasNoNodes(String answer) throws IOException {
        assertEquals(List.of(), written(entry("[\"GPU-a\"]", answer)).entries().getFirst().nodes());
    }

    @Test
    void answerCutShortHasNoNodes() throws IOException {
        byte[] cut = {0x1a, 0x20, 0x0a, 0x0c};
        String answer = Base64.getEncoder().encodeToString(cut);
        assertEquals(List.of(), written(entry("[\"GPU-a\"]", answer)).entries().getFirst().nodes());
    }

    private static String entry(String ids, String answer) {
        return new String(
                ("{\"Data\":{\"PodDeviceEntries\":[{\"PodUID\":\""
                                + UID
                                + "\",\"ContainerName\":\"main\",\"ResourceName\":\"nvidia.com/gpu\","
                                + "\"DeviceIDs\":"
                                + ids
                                + ",\"AllocResp\":\""
                                + answer
                                + "\"}],\"RegisteredDevices\":{}},\"Checksum\":1}")
                        .getBytes(StandardCharsets.UTF_8),
                StandardCharsets.UTF_8);
    }
}
