package jnvdocker.rest;

import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.host.Gpu;
import jnvdocker.web.WebAnswer;
import jnvdocker.web.WebAnswer.Page;
import jnvdocker.web.WebPages;
import jnvdocker.web.WebRequest;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.zip.DeflaterOutputStream;

/** The documents of nvidia-docker 1.0's REST API, for programs that were written for it. */
public final class NvidiaDockerPages implements WebPages {
    private static final String PREFIX = "/v1.0";
    private static final ObjectMapper JSON = new ObjectMapper();

    private final DeviceReport report;
    private final BooleanSupplier labels;

    /**
     * @param labels whether pids and programs are shown over TCP, too
     */
    public NvidiaDockerPages(DeviceReport report, BooleanSupplier labels) {
        this.report = report;
        this.labels = labels;
    }

    @Override
    public Optional<WebAnswer> answer(WebRequest request) throws IOException {
        return switch (request.path().startsWith(PREFIX + "/")
                ? request.path().substring(PREFIX.length())
                : request.path()) {
            case "/gpu/info/json" -> json(report.info(report.see()));
            case "/gpu/status/json" -> json(status(report.see(), request));
            case "/mesos/cli" -> mesos();
            default -> Optional.empty();
        };
    }

    private DeviceStatus.Document status(DeviceReport.Seen seen, WebRequest request) {
        DeviceStatus.Document status = report.status(seen);
        return request.trusted() || labels.getAsBoolean() ? status : status.withoutProcesses();
    }

    /** Returns the arguments of a Mesos agent that describe the GPUs. */
    private Optional<WebAnswer> mesos() throws IOException {
        DeviceReport.Seen seen = report.see();
        ByteArrayOutputStream info = new ByteArrayOutputStream();
        try (var zlib = new DeflaterOutputStream(info)) {
            zlib.write(document(report.info(seen)).getBytes(StandardCharsets.UTF_8));
        }
        String uuids =
                seen.gpus().stream()
                        .filter(Gpu::isSound)
                        .map(Gpu::uuid)
                        .collect(Collectors.joining(","));
        return answer(
                WebAnswer.TEXT,
                "--attributes=gpus:%s --resources=gpus:{%s}"
                        .formatted(
                                Base64.getUrlEncoder()
                                        .withoutPadding()
                                        .encodeToString(info.toByteArray()),
                                uuids));
    }

    private static Optional<WebAnswer> json(Object document) throws IOException {
        return answer(WebAnswer.JSON, document(document));
    }

    private static Optional<WebAnswer> answer(String type, String text) {
        return Optional.of(Page.of(type, text));
    }

    private static String document(Object document) throws IOException {
        return JSON.writeValueAsString(document) + "\n";
    }
}
