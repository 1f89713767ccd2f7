package jnvdocker.docker.cli;

import jnvdocker.request.CsvLine;

import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/** The networks and other containers that the options of a container name. */
final class NamedObjects {
    private static final String CONTAINER = "container:";

    private NamedObjects() {}

    /** The networks by name or id, without those that are other containers'. */
    static List<String> networks(TypedOptions options) {
        return modes(options).filter(network -> !network.startsWith(CONTAINER)).distinct().toList();
    }

    /** The containers by name or id. */
    static List<String> containers(TypedOptions options) {
        Stream<String> shared =
                Stream.concat(
                                modes(options),
                                Stream.of("ipc", "pid").flatMap(name -> last(options, name)))
                        .filter(mode -> mode.startsWith(CONTAINER))
                        .map(mode -> mode.substring(CONTAINER.length()));
        Stream<String> others =
                Stream.of("volumes-from", "link")
                        .flatMap(name -> options.values(name).stream())
                        .map(value -> value.split(":", 2)[0]);
        return Stream.concat(shared, others).filter(name -> !name.isEmpty()).distinct().toList();
    }

    private static Stream<String> last(TypedOptions options, String name) {
        return options.last(name).stream();
    }

    private static Stream<String> modes(TypedOptions options) {
        return Stream.of("network", "net")
                .flatMap(name -> options.values(name).stream())
                .flatMap(NamedObjects::mode);
    }

    /** {@code NAME}, or {@code name=NAME,alias=…}, of which docker takes the last name. */
    private static Stream<String> mode(String value) {
        if (!value.contains("=")) {
            return Stream.of(value);
        }
        return CsvLine.parse(value).stream()
                .flatMap(List::stream)
                .map(field -> field.split("=", 2))
                .filter(field -> field.length == 2)
                .filter(field -> field[0].strip().toLowerCase(Locale.ROOT).equals("name"))
                .map(field -> field[1].strip())
                .reduce((earlier, later) -> later)
                .stream();
    }
}
