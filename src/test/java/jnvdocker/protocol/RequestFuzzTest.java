package jnvdocker.protocol;

import jnvdocker.labels.Mutations;
import jnvdocker.posix.Peer;

import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** A request is understood, or ends its own connection with an error that is expected. */
class RequestFuzzTest {
    @Property(tries = 8_000, seed = "8")
    void everyRequestIsReadOrRefused(@ForAll("requests") byte[] request) {
        try {
            Request.parse(request, new Peer(1, 0, 0));
        } catch (IOException e) {
            // As it should be.
        }
    }

    @Provide
    Arbitrary<byte[]> requests() throws IOException {
        return Mutations.of(List.of(request("run", "--gpus", "1", "cuda"), request(), request("")));
    }

    private static byte[] request(String... arguments) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(Request.VERSION);
        out.writeInt(7);
        out.writeInt(80);
        string(out, "/home/alice");
        strings(out, List.of("docker"));
        strings(out, List.of(arguments));
        strings(out, List.of("HOME=/home/alice", "NV_GPU=0", "PATH=/bin"));
        return bytes.toByteArray();
    }

    private static void strings(DataOutputStream out, List<String> texts) throws IOException {
        out.writeInt(texts.size());
        for (String text : texts) {
            string(out, text);
        }
    }

    private static void string(DataOutputStream out, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
    }
}
