package jnvdocker.oci.install;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.json.JsonMapper;

import jnvdocker.posix.WholeFile;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The runtimes installed for engines: {@code runtimes.json} in the state directory. */
final class Registrations {
    private static final int MODE = 0644;
    private static final JsonMapper MAPPER = JsonMapper.builder().build();

    private final Path file;

    Registrations(Path state) {
        file = state.resolve("runtimes.json");
    }

    /** One as it is stored. */
    private record Stored(
            EngineKind engine, String config, String name, String directory, String hook) {
        static Stored of(Registration registration) {
            return new Stored(
                    registration.engine(),
                    registration.config().toString(),
                    registration.name(),
                    registration.directory().toString(),
                    registration.hook().map(Path::toString).orElse(null));
        }

        Registration registration() {
            return new Registration(
                    engine,
                    Path.of(config),
                    name,
                    Path.of(directory),
                    Optional.ofNullable(hook).map(Path::of));
        }
    }

    /**
     * @throws RefusedException when the file is damaged
     */
    List<Registration> all() throws IOException, RefusedException {
        String text = SettingsFile.read(file);
        if (text.isEmpty()) {
            return List.of();
        }
        try {
            return List.of(MAPPER.readValue(text, Stored[].class)).stream()
                    .map(Stored::registration)
                    .toList();
        } catch (JsonProcessingException | IllegalArgumentException | NullPointerException e) {
            throw new RefusedException(
                    file + " is damaged", "remove it, and run 'jnvdocker runtime install' again");
        }
    }

    /** Adds a registration, in place of one of the same configuration. */
    void add(Registration registration) throws IOException, RefusedException {
        List<Registration> others = without(registration);
        others.add(registration);
        write(others);
    }

    void remove(Registration registration) throws IOException, RefusedException {
        write(without(registration));
    }

    private List<Registration> without(Registration registration)
            throws IOException, RefusedException {
        List<Registration> others = new ArrayList<>(all());
        others.removeIf(each -> each.config().equals(registration.config()));
        return others;
    }

    private void write(List<Registration> all) throws IOException {
        if (all.isEmpty()) {
            WholeFile.delete(file);
            return;
        }
        WholeFile.write(
                file,
                MAPPER.writerWithDefaultPrettyPrinter()
                        .writeValueAsBytes(all.stream().map(Stored::of).toList()),
                WholeFile.Access.root(MODE));
    }
}
