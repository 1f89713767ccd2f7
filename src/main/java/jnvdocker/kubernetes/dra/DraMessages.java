package jnvdocker.kubernetes.dra;

import com.google.protobuf.ByteString;

import jnvdocker.kubernetes.PodClaims;
import jnvdocker.wire.WireMessage;
import jnvdocker.wire.WireWriter;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The messages of {@code pluginregistration} and {@code k8s.io.kubelet.pkg.apis.dra.v1}, as
 * Kubernetes has published them.
 */
public final class DraMessages {
    private static final int MOST_CLAIMS = 64;

    private static final int HEALTHY = 1;
    private static final int UNHEALTHY = 2;

    /** A report counts until the next one, or until the stream ends. */
    private static final Duration LASTING = Duration.ofDays(365);

    private static final Pattern NAME = Pattern.compile("[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?");
    private static final Pattern UID = Pattern.compile("[A-Za-z0-9-]{1,64}");

    private DraMessages() {}

    /**
     * A resource claim, as a kubelet names it.
     *
     * @param uid another claim may have had the same name before
     */
    public record ClaimRef(String namespace, String uid, String name) {}

    /**
     * A device of a prepared claim.
     *
     * @param request of the claim that it was allocated for
     * @param cdi the full name of the CDI device
     * @param share the id of the share, of a device that may have several
     */
    public record Prepared(
            String request, String pool, String device, String cdi, Optional<String> share) {}

    /** The outcome for one claim. */
    public sealed interface Outcome {}

    /** It was done; with the devices, if it was prepared. */
    public record Done(List<Prepared> devices) implements Outcome {
        public Done {
            devices = List.copyOf(devices);
        }
    }

    /** It was not done, and is to be tried again. */
    public record Failed(String error) implements Outcome {}

    /** What a plugin answers to {@code GetInfo}. */
    public static ByteString info(String driver, String endpoint) {
        return new WireWriter()
                .text(1, "DRAPlugin")
                .text(2, driver)
                .text(3, endpoint)
                .texts(4, List.of("v1.DRAPlugin"))
                .bytes();
    }

    /** Why the kubelet has not registered a plugin; empty when it has. */
    static String registrationError(ByteString status) throws IOException {
        WireMessage message = WireMessage.parse(status);
        return message.number(1) == 1
                ? ""
                : message.text(2).filter(it -> !it.isEmpty()).orElse("it names no reason");
    }

    /**
     * The claims of a request to prepare or to unprepare.
     *
     * @throws IOException when it is malformed
     */
    public static List<ClaimRef> claims(ByteString request) throws IOException {
        List<ClaimRef> claims = new ArrayList<>();
        for (WireMessage claim : WireMessage.parse(request).messages(1)) {
            ClaimRef its =
                    new ClaimRef(
                            claim.text(1).orElse(""),
                            claim.text(2).orElse(""),
                            claim.text(3).orElse(""));
            boolean valid =
                    NAME.matcher(its.namespace()).matches()
                            && NAME.matcher(its.name()).matches()
                            && UID.matcher(its.uid()).matches();
            if (!valid || claims.size() == MOST_CLAIMS) {
                throw new IOException(
                        valid ? "more than " + MOST_CLAIMS + " claims" : "a claim has no name");
            }
            claims.add(its);
        }
        return claims;
    }

    /** A request for these claims. */
    public static ByteString request(List<ClaimRef> claims) {
        WireWriter request = new WireWriter();
        for (ClaimRef claim : claims) {
            request.message(
                    1,
                    new WireWriter()
                            .text(1, claim.namespace())
                            .text(2, claim.uid())
                            .text(3, claim.name()));
        }
        return request.bytes();
    }

    /** The answer to a request to prepare, by the uids of its claims. */
    public static ByteString prepared(Map<String, Outcome> outcomes) {
        return answer(outcomes, 2);
    }

    /** The answer to a request to unprepare, likewise. */
    public static ByteString unprepared(Map<String, Outcome> outcomes) {
        return answer(outcomes, 1);
    }

    /** The health of the devices of a pool, as {@code v1alpha1.DRAResourceHealth} streams it. */
    public static ByteString health(String pool, List<PodClaims.Health> devices) {
        WireWriter all = new WireWriter();
        for (PodClaims.Health device : devices) {
            WireWriter its =
                    new WireWriter()
                            .message(1, new WireWriter().text(1, pool).text(2, device.name()))
                            .number(2, device.trouble().isEmpty() ? HEALTHY : UNHEALTHY)
                            .number(4, LASTING.toSeconds());
            device.trouble().ifPresent(why -> its.text(5, why));
            all.message(1, its);
        }
        return all.bytes();
    }

    private static ByteString answer(Map<String, Outcome> outcomes, int error) {
        WireWriter answer = new WireWriter();
        outcomes.forEach((uid, outcome) ->
                answer.message(
                        1,
                        new WireWriter()
                                .text(1, uid)
                                .message(
                                        2,
                                        switch (outcome) {
                                            case Done(List<Prepared> devices) -> devices(devices);
                                            case Failed(String why) ->
                                                    new WireWriter().text(error, why);
                                        })));
        return answer.bytes();
    }

    private static WireWriter devices(List<Prepared> devices) {
        WireWriter all = new WireWriter();
        for (Prepared device : devices) {
            WireWriter its =
                    new WireWriter()
                            .texts(1, List.of(device.request()))
                            .text(2, device.pool())
                            .text(3, device.device())
                            .texts(4, List.of(device.cdi()));
            device.share().ifPresent(share -> its.text(5, share));
            all.message(1, its);
        }
        return all;
    }
}
