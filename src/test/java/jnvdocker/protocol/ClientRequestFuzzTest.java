package jnvdocker.protocol;

import jnvdocker.labels.Mutations;
import jnvdocker.posix.Peer;

import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

import java.io.IOException;
import java.util.List;
import java.util.Optional;

/** A request is understood, or ends its own connection with an expected error. */
class ClientRequestFuzzTest {
    @Property(tries = 8_000, seed = "8")
    void everyRequestIsReadOrRefused(@ForAll("requests") byte[] request) {
        try {
            ClientRequest.parse(new Payload.Reader(request), new Peer(1, 0), Optional.empty());
        } catch (IOException e) {
            // The expected outcome.
        }
    }

    @Provide
    Arbitrary<byte[]> requests() throws IOException {
        return Mutations.of(List.of(request("run", "--gpus", "1", "cuda"), request(), request("")));
    }

    private static byte[] request(String... arguments) throws IOException {
        return ClientRequestTest.request(
                7,
                80,
                List.of("docker"),
                List.of(arguments),
                List.of("HOME=/home/alice", "NV_GPU=0", "PATH=/bin"));
    }
}
