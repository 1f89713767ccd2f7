package jnvdocker.tests.world;

import com.google.protobuf.ByteString;

import jnvdocker.dra.DraMessages;
import jnvdocker.kubelet.Calls;
import jnvdocker.kubelet.GrpcSockets;
import jnvdocker.wire.WireMessage;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * The part of a kubelet that has resource claims prepared by a driver, with the messages and limits
 * of a real one, which {@code DraRecordingTest} holds it to.
 */
public final class TestClaimKubelet implements AutoCloseable {
    private static final String SERVICE = "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin";
    private static final String REGISTRATION = "pluginregistration.Registration";
    private static final String HEALTH = "v1alpha1.DRAResourceHealth";
    private static final Duration LIMIT = Duration.ofSeconds(45);

    private final GrpcSockets grpc = new GrpcSockets();
    private final Path registry;
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
        return answer("NodePrepareResources", claim, 2);
    }

    /** Gives it back after its pod has ended, or when it has been deleted by force. */
    public Answer unprepare(TestClaim claim) {
        return answer("NodeUnprepareResources", claim, 1);
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
