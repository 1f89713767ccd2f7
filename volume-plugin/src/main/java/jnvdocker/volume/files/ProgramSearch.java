package jnvdocker.volume.files;

import jnvdocker.host.Host;
import jnvdocker.volume.files.DriverFiles.DriverFile;
import jnvdocker.volume.files.DriverFiles.LeftOut;

import java.io.IOException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
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
    private final Set<LeftOut> leftOut = new LinkedHashSet<>();

    /**
     * @param libraries the directories of the driver's libraries: a driver in a place of its own
     *     has its programs in {@code bin} beside its {@code lib64}
     */
    ProgramSearch(Host host, Machine machine, Collection<String> libraries) {
        this.host = host;
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
                if (exists(directory + "/" + name)) {
                    String path = host.spell(host.resolveParent(directory + "/" + name));
                    leftOut.add(new LeftOut(path, Reason.Rule.HOST_ONLY));
                }
            }
        }
    }

    List<DriverFile> programs() {
        return List.copyOf(programs);
    }

    List<LeftOut> leftOut() {
        return List.copyOf(leftOut);
    }

    private void take(String name) throws IOException {
        for (String directory : directories) {
            String path = directory + "/" + name;
            if (exists(path) && take(path, name)) {
                return;
            }
        }
    }

    private boolean take(String path, String name) throws IOException {
        Path file;
        try {
            file = host.resolve(path);
        } catch (FileSystemLoopException e) {
            leaveOut(path, "this link leads in a circle");
            return false;
        }
        String real = host.spell(file);
        if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
            leaveOut(path, "this link leads nowhere: " + real + " does not exist");
            return false;
        }
        return switch (ElfCheck.of(file, machine)) {
            case ElfCheck.Fit fit when fit.directory() == Directory.LIB64 ->
                    programs.add(new DriverFile(Directory.BIN, name, real, fit.size()));
            case ElfCheck.Fit _ -> {
                leaveOut(real, "a 32-bit program");
                yield false;
            }
            case ElfCheck.Unfit unfit -> {
                leaveOut(real, unfit.reason());
                yield false;
            }
        };
    }

    private void leaveOut(String path, String fault) {
        leftOut.add(new LeftOut(path, new Reason.Fault(fault)));
    }

    private boolean exists(String path) throws IOException {
        try {
            return Files.exists(host.resolveParent(path), LinkOption.NOFOLLOW_LINKS);
        } catch (FileSystemLoopException e) {
            return false;
        }
    }
}
