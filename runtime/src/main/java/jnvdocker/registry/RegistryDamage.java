package jnvdocker.registry;

import jnvdocker.posix.FileErrors;
import jnvdocker.posix.PrivateFile;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Damage that was found in a registry while it is in use. A file beside it says so, until it is
 * next opened: a long registry is read whole then, and otherwise is not.
 */
final class RegistryDamage {
    private static final Logger LOG = LoggerFactory.getLogger(RegistryDamage.class);

    private final Path file;
    private final Path mark;
    private volatile String found;

    /**
     * @param file the registry
     */
    RegistryDamage(Path file) {
        this.file = file;
        this.mark = file.resolveSibling(file.getFileName() + ".suspect");
    }

    /** Whether some was found since the registry was last read whole. */
    boolean isSuspected() {
        return Files.exists(mark);
    }

    /** The registry has been read whole, or is a new one. */
    void clear() throws IOException {
        Files.deleteIfExists(mark);
    }

    /** Stops all use of the registry: its content is not trusted, and nothing is added. */
    void note(String damage) {
        if (found != null) {
            return;
        }
        found = damage;
        LOG.error(
                "{} is damaged ({}); nothing is given out or taken back until jnvdockerd is"
                        + " restarted, which keeps the damaged file and makes a new one",
                file,
                damage);
        try (FileChannel out = PrivateFile.open(mark)) {
            out.truncate(0);
            out.write(ByteBuffer.wrap((damage + "\n").getBytes(StandardCharsets.UTF_8)));
            out.force(true);
        } catch (IOException e) {
            LOG.error(
                    "that the registry is damaged cannot be written down: {}",
                    FileErrors.describe(e));
        }
    }

    /**
     * @throws RegistryException when there is damage
     */
    void check() throws RegistryException {
        String damage = found;
        if (damage != null) {
            throw new RegistryException(
                    "the registry "
                            + file
                            + " is damaged ("
                            + damage
                            + "), so it is not certain who holds which GPU",
                    "restart jnvdockerd, which keeps the damaged file and makes a new one");
        }
    }
}
