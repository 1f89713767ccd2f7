package jnvdocker.kubernetes.dra;

import com.google.protobuf.ByteString;

import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.StatusException;

import jnvdocker.kubernetes.PodClaims;
import jnvdocker.kubernetes.dra.DraMessages.ClaimRef;
import jnvdocker.kubernetes.dra.DraMessages.Done;
import jnvdocker.kubernetes.dra.DraMessages.Failed;
import jnvdocker.kubernetes.dra.DraMessages.Outcome;
import jnvdocker.kubernetes.dra.DraMessages.Prepared;
import jnvdocker.kubernetes.kubelet.Calls;
import jnvdocker.kubernetes.kubelet.GrpcServer;
import jnvdocker.posix.FileErrors;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Answers a kubelet that has resource claims prepared for a pod, or gives them back. */
final class DraCalls {
    private static final Logger LOG = LoggerFactory.getLogger(DraCalls.class);
    private static final String SERVICE = "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin";

    private final ApiServer api;
    private final String node;
    private final PodClaims pods;

    /**
     * @param node the name of this host in the cluster
     */
    DraCalls(ApiServer api, String node, PodClaims pods) {
        this.api = api;
        this.node = node;
        this.pods = pods;
    }

    ServerServiceDefinition service() {
        return ServerServiceDefinition.builder(SERVICE)
                .addMethod(
                        Calls.unary(SERVICE, "NodePrepareResources"),
                        GrpcServer.unary(
                                request -> DraMessages.prepared(each(request, this::prepare))))
                .addMethod(
                        Calls.unary(SERVICE, "NodeUnprepareResources"),
                        GrpcServer.unary(
                                request -> DraMessages.unprepared(each(request, this::unprepare))))
                .build();
    }

    /** Work for one claim. */
    private interface Work {
        Done perform(ClaimRef claim, Duration patience) throws RefusedException, IOException;
    }

    private static Map<String, Outcome> each(ByteString request, Work work) throws StatusException {
        List<ClaimRef> claims;
        try {
            claims = DraMessages.claims(request);
        } catch (IOException e) {
            throw Status.INVALID_ARGUMENT.withDescription(e.getMessage()).asException();
        }
        Map<String, Outcome> outcomes = new LinkedHashMap<>();
        claims.forEach(claim -> outcomes.put(claim.uid(), outcome(claim, work)));
        return outcomes;
    }

    private static Outcome outcome(ClaimRef claim, Work work) {
        try {
            return work.perform(claim, GrpcServer.patience(GrpcServer.remaining()));
        } catch (RefusedException e) {
            return new Failed(GrpcServer.text(e.refusal()));
        } catch (IOException e) {
            return new Failed(GrpcServer.text(FileErrors.refusal(e)));
        } catch (RuntimeException e) {
            LOG.error("resource claim {} failed", claim, e);
            return new Failed(
                    GrpcServer.text(
                            new Refusal(
                                    "an unknown error",
                                    "see the log of jnvdockerd (journalctl -u jnvdocker)")));
        }
    }

    private Done prepare(ClaimRef ref, Duration patience) throws RefusedException, IOException {
        String path = AllocatedClaim.path(ref.namespace(), ref.name());
        AllocatedClaim claim = AllocatedClaim.of(api.get(path), ref, DraDriver.NAME, node);
        Map<String, String> cdi = pods.prepare(claim.allocated(), patience);
        return new Done(
                claim.results().stream()
                        .map(it ->
                                new Prepared(
                                        it.request(),
                                        node,
                                        it.device(),
                                        cdi.get(it.device()),
                                        it.share()))
                        .toList());
    }

    /** Depends on no API server: the claim may be gone. */
    private Done unprepare(ClaimRef ref, Duration patience) throws RefusedException {
        pods.unprepare(ref.uid(), patience);
        return new Done(List.of());
    }
}
