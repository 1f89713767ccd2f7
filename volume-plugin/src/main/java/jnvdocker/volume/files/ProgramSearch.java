package jnvdocker.volume.files;

import jnvdocker.host.Host;
import jnvdocker.volume.files.DriverFiles.DriverFile;
import jnvdocker.volume.files.DriverFiles.LeftOut;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Finds the driver's programs. */
final class ProgramSearch {
    private static final List<String> DIRECTORIES =
            List.of(
                    "/usr/bin",
                    "/usr/sbin",
                    "/bin",
                    "/sbin",
                    "/usr/local/bin",
                    "/usr/local/sbin",
                    "/opt/bin",
                    "/usr/lib/nvidia/current",
                    "/run/current-system/sw/bin");

    private static final List<String> WANTED =
            List.of(
                    "nvidia-cuda-mps-control",
                    "nvidia-cuda-mps-server",
                    "nvidia-debugdump",
                    "nvidia-persistenced",
                    "nvidia-smi");

    /** Programs of the driver that are of no use in a container, or against its purpose. */
    private static final List<String> UNWANTED =
            List.of(
                    "nvidia-bug-report.sh",
                    "nvidia-installer",
                    "nvidia-modprobe",
                    "nvidia-powerd",
                    "nvidia-settings",
                    "nvidia-sleep.sh",
                    "nvidia-uninstall",
                    "nvidia-xconfig");

    private final Host host;
    private final Machine machine;
    private final Set<String> directories = new LinkedHashSet<>();
    private final List<DriverFile> programs = new ArrayList<>();
    private final HostFiles found;

    /**
     * @param libraries the directories of the driver's libraries: a driver in a place of its own
     *     has its programs in {@code bin} beside its {@code lib64}
     */
    ProgramSearch(Host host, Machine machine, Collection<String> libraries) {
        this.host = host;
        this.found = new HostFiles(host);
        this.machine = machine;
        directories.addAll(DIRECTORIES);
        libraries.forEach(
                directory -> directories.add(Path.of(directory).resolveSibling("bin").toString()));
    }

    void run() throws IOException {
        for (String name : WANTED) {
            take(name);
        }
        for (String name : UNWANTED) {
            for (String directory : directories) {
                if (found.isThere(directory + "/" + name)) {
                    String path = host.spell(host.resolveParent(directory + "/" + name));
                    found.leaveOut(path, Reason.Rule.HOST_ONLY);
                }
            }
        }
    }

    List<DriverFile> programs() {
        return List.copyOf(programs);
    }

    List<LeftOut> leftOut() {
        return found.leftOut();
    }

    private void take(String name) throws IOException {
        for (String directory : directories) {
            if (take(directory + "/" + name, name)) {
                return;
            }
        }
    }

    private boolean take(String path, String name) throws IOException {
        Optional<Path> followed = found.follow(path);
        if (followed.isEmpty()) {
            return false;
        }
        Path file = followed.get();
        String real = host.spell(file);
        return switch (ElfCheck.of(file, machine)) {
            case ElfCheck.Fit fit when fit.directory() == Directory.LIB64 ->
                    programs.add(new DriverFile(Directory.BIN, name, real, fit.size()));
            case ElfCheck.Fit _ -> {
                found.leaveOut(real, "a 32-bit program");
                yield false;
            }
            case ElfCheck.Unfit unfit -> {
                found.leaveOut(real, unfit.reason());
                yield false;
            }
        };
    }
}
