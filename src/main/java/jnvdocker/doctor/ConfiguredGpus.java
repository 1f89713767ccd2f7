package jnvdocker.doctor;

import jnvdocker.words.Quote;

import java.util.List;
import java.util.stream.Collectors;

/** Ids of GPUs in the configuration. */
final class ConfiguredGpus {
    private ConfiguredGpus() {}

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
