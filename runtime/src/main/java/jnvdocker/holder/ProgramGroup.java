package jnvdocker.holder;

import jnvdocker.lease.Claim;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.ProcessGroup;
import jnvdocker.registry.ClaimFiles;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The names of the cgroups that programs of the host are in. */
public final class ProgramGroup {
    /** The names that {@link #of} makes, with the claim. */
    static final Pattern NAME = Pattern.compile("jnvdocker-([0-9a-f]{12})");

    private static final Logger LOG = LoggerFactory.getLogger(ProgramGroup.class);
    private static final String CLAIM = "claim";
    private static final String STATE = "state";

    private ProgramGroup() {}

    /** The name of the cgroup that a process of the host and all it starts are in. */
    static String of(Claim claim) {
        return "jnvdocker-" + claim.id();
    }

    /**
     * Puts a process of the host into a cgroup of its own.
     *
     * @return its directory
     */
    public static String make(ProcessId process, Claim claim, ClaimFiles files) throws IOException {
        byte[] state = files.state().toString().getBytes(StandardCharsets.UTF_8);
        return ProcessGroup.make(
                process, of(claim), Map.of(CLAIM, files.text(claim), STATE, state));
    }

    /** Returns the claim that such a cgroup was made for, by its attributes alone. */
    public static Optional<Claim> recorded(String id, String directory, ClaimFiles files) {
        try {
            Optional<byte[]> text = ProcessGroup.attribute(directory, CLAIM);
            return text.isPresent() ? Optional.of(files.parse(id, text.get())) : Optional.empty();
        } catch (IOException e) {
            LOG.warn("{}: {}", directory, e.getMessage());
            return Optional.empty();
        }
    }

    /** Whether a daemon with another state directory has made such a cgroup. */
    public static boolean isAnothers(String directory, ClaimFiles files) throws IOException {
        Optional<byte[]> state = ProcessGroup.attribute(directory, STATE);
        return state.isPresent()
                && !new String(state.get(), StandardCharsets.UTF_8)
                        .equals(files.state().toString());
    }

    /** Whether a cgroup is called as such a one is. */
    public static boolean isName(String name) {
        return NAME.matcher(name).matches();
    }

    /** The claim of such a cgroup. */
    public static Optional<String> claim(String directory) {
        Matcher name = NAME.matcher(Path.of(directory).getFileName().toString());
        return name.matches() ? Optional.of(name.group(1)) : Optional.empty();
    }
}
