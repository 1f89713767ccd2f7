package jnvdocker.process;

import jnvdocker.posix.ProcessId;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Finds file systems in other mount namespaces by their source, where the root of a mount does not
 * identify it: the root of an overlay is always a slash. Users can choose any source, so a match is
 * a reason to keep something, but no evidence of a claim's holder.
 */
public final class MountSources {
    /** As many lines of usual length as the kernel allows a namespace (fs.mount-max). */
    private static final long MOST_CHARACTERS = 16L << 20;

    private final Path proc;
    private final Processes processes;

    MountSources(Path proc, Processes processes) {
        this.proc = proc;
        this.processes = processes;
    }

    public static MountSources ofThisMachine() {
        return new MountSources(Path.of("/proc"), Processes.ofThisMachine());
    }

    /**
     * Finds processes that have such a file system mounted, in a namespace that is not ours.
     *
     * @param above the beginning of the sources to find
     * @return a process for each rest of a source
     * @throws UncheckedIOException when one of the namespaces has more mounts than the limit allows
     */
    public Map<String, ProcessId> with(String type, String above) {
        Map<String, ProcessId> found = new TreeMap<>();
        Set<String> seen = new HashSet<>();
        namespace("self").ifPresent(seen::add);
        for (int pid : pids()) {
            Optional<ProcessId> process = processes.find(pid);
            Optional<String> namespace = namespace(String.valueOf(pid));
            if (process.isPresent() && namespace.isPresent() && !seen.contains(namespace.get())) {
                try {
                    for (String source : sources(pid, type, above)) {
                        found.putIfAbsent(source.substring(above.length()), process.get());
                    }
                } catch (IOException e) {
                    if (processes.isAlive(process.get())) {
                        throw new UncheckedIOException(e);
                    }
                    continue;
                }
                // A process that is ending shows no mounts any more; the next one shows them.
                if (processes.isAlive(process.get())) {
                    seen.add(namespace.get());
                }
            }
        }
        return found;
    }

    private Set<String> sources(int pid, String type, String above) throws IOException {
        Path file = proc.resolve(pid + "/mountinfo");
        Set<String> sources = new HashSet<>();
        String mark = " - " + type + " " + above;
        long characters = 0;
        try (BufferedReader lines =
                new BufferedReader(
                        new InputStreamReader(
                                Files.newInputStream(file), StandardCharsets.ISO_8859_1))) {
            String line;
            while ((line = lines.readLine()) != null) {
                characters += line.length();
                if (characters > MOST_CHARACTERS) {
                    throw new IOException(file + " has more mounts than are read");
                }
                if (line.contains(mark)) {
                    Mount.parse(line)
                            .filter(mount -> mount.type().equals(type))
                            .map(Mount::source)
                            .filter(source -> source.startsWith(above))
                            .ifPresent(sources::add);
                }
            }
        }
        return sources;
    }

    private SortedSet<Integer> pids() {
        SortedSet<Integer> pids = new TreeSet<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(proc, "[1-9]*")) {
            entries.forEach(entry -> pids.add(Integer.valueOf(entry.getFileName().toString())));
            return pids;
        } catch (DirectoryIteratorException e) {
            throw new UncheckedIOException(e.getCause());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns empty when the process has gone, or is shielded from us: some are even from root. */
    private Optional<String> namespace(String pid) {
        try {
            return Optional.of(Files.readSymbolicLink(proc.resolve(pid + "/ns/mnt")).toString());
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
