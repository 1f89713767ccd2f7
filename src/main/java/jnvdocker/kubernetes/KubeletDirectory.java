package jnvdocker.kubernetes;

import jnvdocker.program.TrustedDirectory;
import jnvdocker.words.Refusal;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * A directory of a kubelet. Any user with write access can serve the kubelet's socket, or write its
 * file, and so report running pods as ended.
 */
public final class KubeletDirectory {
    private KubeletDirectory() {}

    /** Why nothing in a directory is the kubelet's word; empty if it is. */
    public static Optional<Refusal> fault(Path directory) throws IOException {
        return TrustedDirectory.openToOthers(directory)
                .map(open ->
                        new Refusal(
                                "users other than root can write to "
                                        + open
                                        + ", and so could speak for the kubelet",
                                "take their right with chmod go-w and chown root"));
    }

    /**
     * @throws IOException when nothing in the directory is the kubelet's word
     */
    public static void check(Path directory) throws IOException {
        Optional<Refusal> fault = fault(directory);
        if (fault.isPresent()) {
            throw new IOException(fault.get().what());
        }
    }
}
