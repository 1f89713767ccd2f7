package jnvdocker.rest;

import jnvdocker.host.Gpu;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.stream.Collectors;
import java.util.zip.DeflaterOutputStream;

/** The arguments of a Mesos agent that describe the GPUs, as {@code /mesos/cli} returns them. */
final class MesosArguments {
    private MesosArguments() {}

    /**
     * @param info the document of {@code /gpu/info/json}, which becomes an attribute
     */
    static String line(String info, List<Gpu> gpus) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (var zlib = new DeflaterOutputStream(bytes)) {
            zlib.write(info.getBytes(StandardCharsets.UTF_8));
        }
        return "--attributes=gpus:"
                + Base64.getUrlEncoder().withoutPadding().encodeToString(bytes.toByteArray())
                + " --resources=gpus:{"
                + gpus.stream().filter(Gpu::isSound).map(Gpu::uuid).collect(Collectors.joining(","))
                + "}";
    }
}
