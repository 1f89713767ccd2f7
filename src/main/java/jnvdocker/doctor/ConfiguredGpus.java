package jnvdocker.doctor;

import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.host.NoDriverException;
import jnvdocker.words.Quote;

import java.io.IOException;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Ids of GPUs in the configuration. */
final class ConfiguredGpus {
    private ConfiguredGpus() {}

    /**
     * Returns a finding if ids belong to no GPU of this host. Another check says if there is no
     * driver.
     *
     * @param givesNothing picks these ids, given the host's GPUs
     */
    static List<Finding> check(
            Host host,
            Function<List<Gpu>, List<String>> givesNothing,
            String key,
            DaemonFacts daemon)
            throws IOException {
        List<String> unknown;
        try {
            unknown = givesNothing.apply(HostDriver.read(host).gpus());
        } catch (NoDriverException e) {
            return List.of();
        }
        return unknown.isEmpty() ? List.of() : List.of(unknown(unknown, key, daemon));
    }

    /**
     * Returns the finding that some ids belong to no GPU of this host.
     *
     * @param key the key that lists them
     */
    static Finding unknown(List<String> ids, String key, DaemonFacts daemon) {
        return Finding.wrong(
                key
                        + " in the configuration lists "
                        + ids.stream().map(Quote::quoted).collect(Collectors.joining(", "))
                        + ", which "
                        + (ids.size() == 1 ? "matches" : "match")
                        + " no GPU on this host",
                "correct that ('jnvdocker gpu ls' shows the GPUs), then " + daemon.restart());
    }
}
