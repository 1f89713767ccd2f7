package jnvdocker.rest;

import jnvdocker.host.HostName;
import jnvdocker.screen.Json;

import java.io.IOException;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/** Documents that no command prints. */
final class PageDocuments {
    private PageDocuments() {}

    private record HostDocument(String host, String now, boolean names) {}

    private record Utilization(String uuid, List<Integer> percent) {}

    /**
     * @param named whether the other documents name users
     */
    static String host(Instant now, boolean named) throws IOException {
        return Json.text(new HostDocument(HostName.read(), now.toString(), named));
    }

    /**
     * @param minutes the utilization in each minute of the last hour, by UUID
     */
    static String utilization(Map<String, List<Integer>> minutes) {
        return Json.line(
                minutes.entrySet().stream()
                        .sorted(Map.Entry.comparingByKey())
                        .map(it -> new Utilization(it.getKey(), it.getValue()))
                        .toList());
    }
}
