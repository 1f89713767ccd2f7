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
public final class RuntimeUsers {
    private static final String MONITOR = "conmon";
    private static final Path STATE = Path.of("/run/containerd");
    private static final String TASKS = "io.containerd.runtime.v2.task";
    private static final int LONGEST = 4096;
    private static final int HASH = 64;
    private static final int SHORT = 12;

    private RuntimeUsers() {}

    /** Their names, sorted. */
    public static List<String> of(Registration registration) throws IOException, RefusedException {
        return switch (registration.engine()) {
            case PODMAN, CRIO ->
                    monitored(StartedProgram.named(Set.of(MONITOR)), registration.program());
            case CONTAINERD -> containerds(state(registration), registration.program());
            case DOCKER, CDI -> List.of();
        };
    }

    /**
     * Docker's containers that have a process.
     *
     * @param with the ids of those that run with a program
     * @param without the ids of those that run with another one; any other container may run with
     *     it
     */
    public record Tasks(Set<String> with, Set<String> without) {}

    /**
     * Finds them where the containerds have them that root's dockerds start or name. With
     * live-restore containers run on while docker is restarted, or down.
     */
    public static Tasks ofDocker(Path program) throws IOException {
        Set<Path> states = new TreeSet<>(List.of(STATE, RunningDockerd.USUAL_STATE));
        RunningDockerd.roots().forEach(each -> states.addAll(each.containerdStates()));
        Set<String> with = new TreeSet<>();
        Set<String> without = new TreeSet<>();
        for (Path state : states) {
            for (Path task : tasks(state)) {
                String runtime = text(task.resolve("runtime"));
                if (!runtime.isEmpty()) {
                    Set<String> its = runtime.equals(program.toString()) ? with : without;
                    its.add(task.getFileName().toString());
                }
            }
        }
        without.removeAll(with);
        return new Tasks(with, without);
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
        Path config = ContainerdConf.above(registration.config());
        Object state = Toml.parse(SettingsFile.read(config)).get("state");
        return state instanceof String text && text.startsWith("/") ? Path.of(text) : STATE;
    }

    /**
     * containerd has a directory for each, below that of its namespace, with the runtime's path.
     *
     * @param state containerd's state directory
     */
    static List<String> containerds(Path state, Path runtime) throws IOException {
        Set<String> names = new TreeSet<>();
        for (Path task : tasks(state)) {
            if (text(task.resolve("runtime")).equals(runtime.toString())) {
                names.add(task.getParent().getFileName() + "/" + shortened(task));
            }
        }
        return List.copyOf(names);
    }

    private static List<Path> tasks(Path state) throws IOException {
        List<Path> found = new ArrayList<>();
        for (Path namespace : directories(state.resolve(TASKS))) {
            found.addAll(directories(namespace));
        }
        return found;
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
