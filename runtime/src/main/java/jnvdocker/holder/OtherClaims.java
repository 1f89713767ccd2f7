package jnvdocker.holder;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.host.Gpu;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.Posix;
import jnvdocker.posix.ProcessId;
import jnvdocker.posix.RegularFile;
import jnvdocker.process.MountedDirectory;
import jnvdocker.process.ProcessTraits;
import jnvdocker.process.Processes;
import jnvdocker.registry.ClaimFiles;
import jnvdocker.use.GpuUse;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * GPUs that other daemons of this host have given to containers, those of another engine mostly.
 * Their claims have files, as ours have, and the containers have them mounted.
 */
public final class OtherClaims {
    private static final Logger LOG = LoggerFactory.getLogger(OtherClaims.class);
    private static final int LIMIT = 1 << 16;
    private static final int OTHERS_MAY_WRITE = 02;

    private final Processes processes;
    private final Evidence evidence;
    private final Pace pace;
    private final Supplier<List<Mounted>> all;
    private final ObjectMapper json = new ObjectMapper();

    public OtherClaims(Processes processes, Evidence evidence, Pace pace) {
        this.processes = processes;
        this.evidence = evidence;
        this.pace = pace;
        this.all = pace.shared(this::scan);
    }

    /**
     * One that a container has mounted.
     *
     * @param process the oldest that has
     * @param gpus their UUIDs; empty when they cannot be learnt
     */
    public record Mounted(MountedDirectory directory, ProcessId process, Set<String> gpus) {
        private boolean has(Gpu gpu) {
            return gpus.contains(gpu.uuid())
                    || gpu.part().filter(part -> gpus.contains(part.parent())).isPresent();
        }
    }

    /**
     * All of them.
     *
     * @throws IOException when processes cannot be inspected
     */
    List<Mounted> mounted() throws IOException {
        return Pace.taken(all);
    }

    /** Begins to scan for all of them; {@link #uses} takes the result. */
    Supplier<List<Mounted>> begin() {
        return pace.meanwhile(all);
    }

    private List<Mounted> scan() {
        List<Mounted> all = new ArrayList<>();
        evidence.mountedClaims()
                .others()
                .forEach((directory, process) ->
                        all.add(new Mounted(directory, process, gpus(directory))));
        return all;
    }

    /**
     * The uses of these GPUs that this makes.
     *
     * @param mounts of claims, from a scan that has begun
     */
    List<GpuUse> uses(List<Gpu> gpus, Supplier<List<Mounted>> mounts) throws IOException {
        List<GpuUse> uses = new ArrayList<>();
        for (Mounted mounted : Pace.taken(mounts)) {
            Optional<GpuUse.User> user = user(mounted.process());
            for (Gpu gpu : gpus) {
                if (user.isPresent() && mounted.has(gpu)) {
                    uses.add(new GpuUse(gpu, GpuUse.Kind.OTHER_CLAIM, Optional.empty(), user));
                }
            }
        }
        return uses;
    }

    private Optional<GpuUse.User> user(ProcessId process) {
        return processes.traits(process).map(traits -> user(process, traits));
    }

    private static GpuUse.User user(ProcessId process, ProcessTraits traits) {
        return new GpuUse.User(process, traits.name(), traits.uid(), traits.container());
    }

    /** Reads a claim from its mounted file, where its daemon has written it. */
    private Set<String> gpus(MountedDirectory directory) {
        Optional<Path> here = processes.locate(directory);
        if (here.isEmpty()) {
            LOG.debug("{} cannot be seen from here", directory);
            return Set.of();
        }
        try {
            Path file = here.get().resolve(ClaimFiles.LEASE);
            refuseForged(file);
            return gpus(file, ClaimMounts.claimOf(directory));
        } catch (IOException e) {
            LOG.debug("a claim of another state directory: {}", FileErrors.describe(e));
            return Set.of();
        }
    }

    private Set<String> gpus(Path file, String claim) throws IOException {
        // It was no link a moment ago, in directories of root's.
        byte[] bytes = RegularFile.readOwn(file, LIMIT).orElse(new byte[0]);
        JsonNode root = json.readTree(bytes);
        if (root == null || !root.path("claim").asText().equals(claim)) {
            throw new IOException(file + " is not of claim " + claim);
        }
        Set<String> gpus = new HashSet<>();
        root.path("gpus").forEach(gpu -> gpus.add(gpu.path("uuid").asText()));
        return gpus;
    }

    /** Throws unless only root or this daemon's user can have written it. */
    private static void refuseForged(Path file) throws IOException {
        if (!file.toRealPath().equals(file)) {
            throw new IOException(file + " is reached by a link");
        }
        Path claims = file.getParent().getParent().getParent();
        for (Path path = file; path.startsWith(claims); path = path.getParent()) {
            Map<String, Object> status =
                    Files.readAttributes(path, "unix:mode,uid", LinkOption.NOFOLLOW_LINKS);
            boolean trusted = Posix.isRootOrSelf((int) status.get("uid"));
            if (!trusted || ((int) status.get("mode") & OTHERS_MAY_WRITE) != 0) {
                throw new IOException(path + " can be written by users other than root");
            }
        }
    }
}
