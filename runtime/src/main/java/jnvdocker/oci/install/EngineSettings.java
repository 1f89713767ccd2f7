package jnvdocker.oci.install;

import jnvdocker.words.RefusedException;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The runtimes in an engine's configuration, and the edits of these. */
interface EngineSettings {
    /**
     * The entry to write.
     *
     * @param file it stands in, for messages
     * @param name of the runtime
     * @param program absolute
     * @param standard whether containers get it that name no runtime
     * @param resources of a Swarm node, {@code NVIDIA-GPU=4}; empty to leave them alone
     * @param devices for CDI alone
     * @param engines the engine's own configuration, which the file may be beside
     * @param others the files that the engine reads of the same directory
     */
    record Entry(
            Path file,
            String name,
            Path program,
            boolean standard,
            List<String> resources,
            Optional<CdiDevices> devices,
            Part engines,
            List<Part> others) {
        /** An entry that changes no default. */
        static Entry of(Path file, String name, Path program, Optional<CdiDevices> devices) {
            return new Entry(
                    file, name, program, false, List.of(), devices, new Part(file, ""), List.of());
        }
    }

    /** A file of a configuration. */
    record Part(Path file, String text) {}

    /**
     * An entry of the configuration.
     *
     * @param program which the name stands for
     * @param standard whether containers get it that name no runtime
     */
    record Found(Path program, boolean standard) {}

    /**
     * A configuration with a runtime added, and all else as it was.
     *
     * @param text empty when there is no file
     * @throws RefusedException when it says something else of that name, or cannot be read
     */
    String with(String text, Entry entry) throws RefusedException;

    /**
     * A configuration without a runtime; empty when nothing is left, unchanged when the name is
     * another's by now.
     *
     * @throws RefusedException when it cannot be read
     */
    Optional<String> without(String text, Registration registration) throws RefusedException;

    /**
     * @throws RefusedException when it cannot be read
     */
    Optional<Found> find(String text, Path file, String name) throws RefusedException;

    /** The program that containers get which name no runtime, where the text says one. */
    default Optional<Path> standardProgram(String text, Path file) throws RefusedException {
        return Optional.empty();
    }

    /**
     * The file to write for an engine: its configuration, or one beside it.
     *
     * @param text of the configuration
     * @throws RefusedException when it cannot be read
     */
    default Path file(Path config, String text) throws RefusedException {
        return config;
    }

    /** The names of the files that an engine reads beside that one; empty where it reads none. */
    default Optional<String> besides(Path file) {
        return Optional.empty();
    }

    /**
     * The lines that an administrator has to add to a text that {@link #with} leaves as it is.
     *
     * @throws RefusedException when it cannot be read
     */
    default Optional<String> lines(String text, Entry entry) throws RefusedException {
        return Optional.empty();
    }

    /** The name that a file has for something else. */
    static RefusedException taken(Entry entry, Path file, String program) {
        return new RefusedException(
                "the runtime '%s' in %s is %s, which is not jnvdocker's"
                        .formatted(entry.name(), file, program),
                "remove it there, or choose another name with --name jnvdocker");
    }
}
