package jnvdocker.doctor;

import jnvdocker.words.Quote;

import java.util.List;
import java.util.stream.Collectors;

/** Ids of GPUs in the configuration. */
final class ConfiguredGpus {
    private ConfiguredGpus() {}

    /**
     * That some of them are no GPU's of this host.
     *
     * @param does what the configuration does with them: {@code cordons}
     * @param key under which it names them
     */
    static Finding unknown(String does, List<String> ids, String key, DaemonFacts daemon) {
        return Finding.wrong(
                "the configuration "
                        + does
                        + " "
                        + ids.stream().map(Quote::quoted).collect(Collectors.joining(", "))
                        + ", which no GPU of this host is called",
                "correct its key "
                        + key
                        + " ('jnvdocker gpu ls' shows what they are called), then "
                        + daemon.restart());
    }
}
