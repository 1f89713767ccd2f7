package jnvdocker.oci.install;

import jnvdocker.process.StartedProgram;
import jnvdocker.words.RefusedException;

import org.tomlj.Toml;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * The running containers of a runtime that podman, containerd and CRI-O have, which cannot be
 * queried for them. Stopped ones stand in their databases alone.
 */
public final class RunningContainers {
    private static final String MONITOR = "conmon";
    private static final Path STATE = Path.of("/run/containerd");
    private static final String TASKS = "io.containerd.runtime.v2.task";
    private static final int LONGEST = 4096;
    private static final int HASH = 64;
    private static final int SHORT = 12;

    private RunningContainers() {}

    /** Their names, sorted. */
    public static List<String> of(Registration registration) throws IOException, RefusedException {
        return switch (registration.engine()) {
            case PODMAN, CRIO ->
                    monitored(StartedProgram.named(Set.of(MONITOR)), registration.program());
            case CONTAINERD -> containerds(state(registration), registration.program());
            case DOCKER, CDI -> List.of();
        };
    }

    /** Podman and CRI-O have a process for each container, with the runtime among its arguments. */
    static List<String> monitored(List<StartedProgram> monitors, Path runtime) {
        Set<String> names = new TreeSet<>();
        for (StartedProgram monitor : monitors) {
            if (monitor.user().uid() == 0
                    && monitor.value("-r").equals(Optional.of(runtime.toString()))) {
                monitor.value("-n").or(() -> monitor.value("-c")).ifPresent(names::add);
            }
        }
        return List.copyOf(names);
    }

    private static Path state(Registration registration) throws IOException, RefusedException {
        Object state = Toml.parse(SettingsFile.read(registration.config())).get("state");
        return state instanceof String text && text.startsWith("/") ? Path.of(text) : STATE;
    }

    /**
     * containerd has a directory for each, below that of its namespace, with the runtime's path.
     *
     * @param state containerd's state directory
     */
    static List<String> containerds(Path state, Path runtime) throws IOException {
        Set<String> names = new TreeSet<>();
        for (Path namespace : directories(state.resolve(TASKS))) {
            for (Path task : directories(namespace)) {
                if (text(task.resolve("runtime")).equals(runtime.toString())) {
                    names.add(namespace.getFileName() + "/" + shortened(task));
                }
            }
        }
        return List.copyOf(names);
    }

    private static String shortened(Path task) {
        String id = task.getFileName().toString();
        return id.length() == HASH ? id.substring(0, SHORT) : id;
    }

    private static List<Path> directories(Path directory) throws IOException {
        List<Path> directories = new ArrayList<>();
        if (!Files.isDirectory(directory)) {
            return directories;
        }
        try (DirectoryStream<Path> all = Files.newDirectoryStream(directory, Files::isDirectory)) {
            all.forEach(directories::add);
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return directories;
    }

    /** Empty for what is no short file, or has just gone. */
    private static String text(Path file) {
        try {
            return Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)
                            && Files.size(file) <= LONGEST
                    ? Files.readString(file).strip()
                    : "";
        } catch (IOException e) {
            return "";
        }
    }
}
