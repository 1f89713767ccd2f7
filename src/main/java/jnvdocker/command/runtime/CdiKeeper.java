package jnvdocker.command.runtime;

import jnvdocker.holder.Periodic;
import jnvdocker.oci.install.EngineKind;
import jnvdocker.posix.FileErrors;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;
import java.util.Optional;

/**
 * Keeps the CDI files of {@code runtime install} in line with the GPUs and the driver of the host,
 * on a thread of its own: engines read these files, and ask nobody.
 */
public final class CdiKeeper implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(CdiKeeper.class);

    /** How long an engine may read what is there no more. */
    private static final Duration PERIOD = Duration.ofSeconds(10);

    private final RuntimeHost host;
    private final Periodic thread = new Periodic("cdi-files", PERIOD, this::keep);

    /** Why the files were left as they are; reported once. */
    private Optional<String> trouble = Optional.empty();

    private CdiKeeper(RuntimeHost host) {
        this.host = host;
    }

    /** Begins at once. */
    public static CdiKeeper start(RuntimeHost host) {
        CdiKeeper keeper = new CdiKeeper(host);
        keeper.thread.startVirtual();
        return keeper;
    }

    private void keep() {
        Optional<String> now = Optional.empty();
        try {
            if (host.installer().registered().stream()
                    .anyMatch(it -> it.engine() == EngineKind.CDI)) {
                host.installer()
                        .refresh(host.cdi().devices())
                        .forEach(file -> LOG.info("{} offers what is there now", file));
            }
        } catch (RefusedException e) {
            now = Optional.of(e.getMessage());
        } catch (IOException e) {
            now = Optional.of(FileErrors.describe(e));
        }
        if (!now.equals(trouble)) {
            now.ifPresent(why -> LOG.warn("the CDI files stay as they are: {}", why));
        }
        trouble = now;
    }

    @Override
    public void close() {
        thread.close();
    }
}
