package jnvdocker.tests.world;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.ByteString;

import jnvdocker.kubernetes.dra.DraMessages;
import jnvdocker.kubernetes.kubelet.Calls;
import jnvdocker.kubernetes.kubelet.GrpcSockets;
import jnvdocker.wire.WireMessage;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The part of a kubelet that has resource claims prepared by a driver, with the messages and limits
 * of a real one, which {@code DraRecordingTest} holds it to.
 */
public final class TestClaimKubelet implements AutoCloseable {
    private static final String SERVICE = "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin";
    private static final String REGISTRATION = "pluginregistration.Registration";
    private static final String HEALTH = "v1alpha1.DRAResourceHealth";
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration LIMIT = Duration.ofSeconds(45);

    private final GrpcSockets grpc = new GrpcSockets();
    private final Path registry;
    private final Path state;
    private final Map<String, Set<String>> users = new TreeMap<>();
    private final Map<String, String> names = new TreeMap<>();
    private Path plugin = Path.of("/none");

    /** What a driver answers about a claim: the error, or its CDI devices. */
    public record Answer(String error, List<String> cdi) {
        public Answer {
            cdi = List.copyOf(cdi);
        }
    }

    /**
     * @param kubeletDir in which it makes the directory where drivers register
     */
    public TestClaimKubelet(Path kubeletDir) throws IOException {
        Path directory = Files.createDirectories(kubeletDir.resolve("plugins_registry"));
        state = kubeletDir.resolve("dra_manager_state");
        registry = directory.resolve("gpu.jnvdocker-reg.sock");
    }

    /** Registers the driver as soon as it listens. */
    public void register() {
        Lab.await(() -> {
            try {
                WireMessage info =
                        WireMessage.parse(
                                call(registry, REGISTRATION, "GetInfo", ByteString.EMPTY));
                plugin = Path.of(info.text(3).orElseThrow());
                ByteString registered = ByteString.copyFrom(new byte[] {8, 1});
                call(registry, REGISTRATION, "NotifyRegistrationStatus", registered);
                return List.of();
            } catch (IOException e) {
                return List.of(e.toString());
            }
        });
    }

    private ByteString call(Path socket, String service, String name, ByteString request)
            throws IOException {
        return grpc.request(socket, Calls.unary(service, name), request, LIMIT);
    }

    /** Prepares a claim before its pod starts. */
    public Answer prepare(TestClaim claim) {
        join(claim, claim.pod());
        return answer("NodePrepareResources", claim, 2);
    }

    /** Lets a pod use a claim: the driver is not called where the claim is prepared. */
    public void join(TestClaim claim, TestPod pod) {
        names.put(claim.uid(), claim.name());
        users.computeIfAbsent(claim.uid(), _ -> new TreeSet<>()).add(pod.uid());
        store();
    }

    /** Gives it back after its pod has ended, or when it has been deleted by force. */
    public Answer unprepare(TestClaim claim) {
        return unprepare(claim, claim.pod());
    }

    /**
     * Gives a claim back for one of its pods. As a real kubelet, it calls no driver while several
     * pods have the claim, and does not look which pod is the last.
     */
    public Answer unprepare(TestClaim claim, TestPod pod) {
        Set<String> its = users.getOrDefault(claim.uid(), Set.of());
        if (its.size() > 1) {
            its.remove(pod.uid());
            store();
            return new Answer("", List.of());
        }
        Answer answer = answer("NodeUnprepareResources", claim, 1);
        if (answer.error().isEmpty()) {
            users.remove(claim.uid());
            store();
        }
        return answer;
    }

    /** Writes the file of the claims that are prepared, as kubelets do from Kubernetes 1.32 on. */
    private void store() {
        ObjectNode data =
                JSON.createObjectNode()
                        .put("kind", "DRACheckpoint")
                        .put("apiVersion", "checkpoint.dra.kubelet.k8s.io/v1");
        ArrayNode claims = data.putArray("ClaimInfoStateList");
        users.forEach((claim, pods) -> {
            ObjectNode one = claims.addObject().put("ClaimUID", claim);
            one.put("ClaimName", names.get(claim)).put("Namespace", "team-a");
            pods.forEach(one.putObject("PodUIDs")::putObject);
        });
        try {
            Path next = state.resolveSibling("." + state.getFileName());
            ObjectNode file = JSON.createObjectNode().put("Data", data.toString());
            Files.writeString(next, file.put("Checksum", 0).toString());
            Files.move(next, state, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The health of each device, as {@code gpu-5c1a0000-… 1}, with what the driver says of it. */
    public List<String> health() {
        try {
            ByteString first =
                    grpc.first(plugin, Calls.streaming(HEALTH, "NodeWatchResources"), LIMIT)
                            .orElseThrow();
            List<String> all = new ArrayList<>();
            for (WireMessage device : WireMessage.parse(first).messages(1)) {
                String name = device.message(1).orElseThrow().text(2).orElseThrow();
                String health = name + " " + device.number(2) + " " + device.text(5).orElse("");
                all.add(health.strip());
            }
            return all;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Answer answer(String call, TestClaim claim, int error) {
        try {
            ByteString request = DraMessages.request(List.of(claim.ref()));
            WireMessage all = WireMessage.parse(call(plugin, SERVICE, call, request));
            WireMessage entry = all.messages(1).getFirst();
            if (!entry.text(1).orElse("").equals(claim.uid())) {
                throw new AssertionError("an answer about another claim");
            }
            WireMessage answer = entry.message(2).orElseThrow();
            if (error == 1) {
                return new Answer(answer.text(1).orElse(""), List.of());
            }
            List<String> cdi = new ArrayList<>();
            for (WireMessage device : answer.messages(1)) {
                cdi.addAll(device.texts(4));
            }
            return new Answer(answer.text(error).orElse(""), cdi);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        grpc.close();
    }
}
