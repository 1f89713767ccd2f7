package jnvdocker.oci.install;

import jnvdocker.program.TrustedDirectory;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** The program that ours becomes. */
final class RealRuntime {
    /** Where distributions and docker's own packages put programs. */
    static final List<Path> DIRECTORIES =
            List.of(
                    Path.of("/usr/local/sbin"),
                    Path.of("/usr/local/bin"),
                    Path.of("/usr/sbin"),
                    Path.of("/usr/bin"),
                    Path.of("/sbin"),
                    Path.of("/bin"));

    private static final Set<String> PLAIN = Set.of("runc", "crun");

    private RealRuntime() {}

    /** Whether a path is that of runc or crun, by the name of something else. */
    static boolean isPlain(String path, String name) {
        String program = path.substring(path.lastIndexOf('/') + 1);
        return path.startsWith("/") && PLAIN.contains(program) && !program.equals(name);
    }

    /**
     * @param named the configured one
     * @param names of those that would do, best first
     * @throws RefusedException when there is none that is fit
     */
    static Path of(Optional<Path> named, List<String> names) throws RefusedException, IOException {
        Path runtime = named.isPresent() ? named.get() : search(names);
        check(runtime);
        return runtime;
    }

    private static Path search(List<String> names) throws RefusedException {
        for (String name : names) {
            for (Path directory : DIRECTORIES) {
                Path program = directory.resolve(name);
                if (isProgram(program)) {
                    return program;
                }
            }
        }
        throw new RefusedException(
                "there is no "
                        + String.join(" or ", names)
                        + " in "
                        + DIRECTORIES.getFirst()
                        + " … "
                        + DIRECTORIES.getLast(),
                "name the engine's own runtime with --real");
    }

    private static boolean isProgram(Path program) {
        return Files.isRegularFile(program) && Files.isExecutable(program);
    }

    private static void check(Path runtime) throws RefusedException, IOException {
        if (!isProgram(runtime)) {
            throw new RefusedException(
                    "there is no program " + runtime, "name runc or crun with --real");
        }
        if (RuntimeProgram.isOursAt(runtime.toString())) {
            throw new RefusedException(
                    runtime + " is jnvdocker's own, which would run itself",
                    "name runc or crun with --real");
        }
        if (runtime.toRealPath().getFileName().toString().startsWith(RuntimeProgram.NAME)) {
            throw new RefusedException(
                    runtime + " is NVIDIA's, which gives containers GPUs without jnvdocker",
                    "name runc or crun with --real");
        }
        TrustedDirectory.check(runtime.toRealPath().getParent());
    }
}
