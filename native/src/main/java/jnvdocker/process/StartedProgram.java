package jnvdocker.process;

import jnvdocker.posix.ProcessId;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * A running program, with the arguments and variables of its start.
 *
 * @param root the directory that is its {@code /}
 * @param user the user who started it
 * @param variables each as {@code NAME=VALUE}
 */
public record StartedProgram(
        int pid, Path root, Credentials user, List<String> arguments, List<String> variables) {
    private static final Path PROC = Path.of("/proc");

    public StartedProgram {
        arguments = List.copyOf(arguments);
        variables = List.copyOf(variables);
    }

    /** Returns the programs of these names, by pid. Users may give their programs any name. */
    public static List<StartedProgram> named(Set<String> names) {
        return ProcessHandle.allProcesses()
                .map(ProcessHandle::pid)
                .sorted()
                .flatMap(pid -> find(Math.toIntExact(pid), names).stream())
                .toList();
    }

    /** Returns the program of this name that has started a process, or its parent. */
    public static Optional<StartedProgram> ancestor(ProcessId process, String name) {
        Optional<ProcessHandle> parent =
                ProcessHandle.of(process.pid()).flatMap(ProcessHandle::parent);
        return Stream.of(parent, parent.flatMap(ProcessHandle::parent))
                .flatMap(Optional::stream)
                .flatMap(it -> find(Math.toIntExact(it.pid()), Set.of(name)).stream())
                .findFirst();
    }

    /** The value of an option, as in {@code -n NAME} or {@code --name=NAME}. */
    public Optional<String> value(String option) {
        for (int i = 0; i < arguments.size(); i++) {
            if (arguments.get(i).startsWith(option + "=")) {
                return Optional.of(arguments.get(i).substring(option.length() + 1));
            }
            if (arguments.get(i).equals(option) && i + 1 < arguments.size()) {
                return Optional.of(arguments.get(i + 1));
            }
        }
        return Optional.empty();
    }

    private static Optional<StartedProgram> find(int pid, Set<String> names) {
        Path process = PROC.resolve(Integer.toString(pid));
        try {
            if (!names.contains(Files.readString(process.resolve("comm")).strip())) {
                return Optional.empty();
            }
            return Optional.of(
                    new StartedProgram(
                            pid,
                            process.resolve("root"),
                            Credentials.parse(Files.readString(process.resolve("status"))),
                            words(process.resolve("cmdline")),
                            words(process.resolve("environ"))));
        } catch (IOException e) {
            return Optional.empty(); // it has gone
        }
    }

    private static List<String> words(Path file) throws IOException {
        return List.of(new String(Files.readAllBytes(file), StandardCharsets.UTF_8).split("\0"));
    }
}
