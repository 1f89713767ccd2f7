package jnvdocker.command.runtime;

import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.docker.engine.EngineException;
import jnvdocker.docker.engine.EngineRuntimes;
import jnvdocker.docker.engine.TrialContainer;
import jnvdocker.host.GpuInventory;
import jnvdocker.oci.install.RuntimeHealth;
import jnvdocker.oci.install.RuntimeInstaller;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.RegularFile;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * The host with the engines in which our runtime is registered.
 *
 * @param engine the engine that can be queried
 * @param real the runtime that ours becomes, by our configuration
 * @param config our configuration
 * @param cdi what CDI devices are made of
 * @param program that a container runs in which the runtime is tried
 * @param pods whether pods of Kubernetes get GPUs here
 * @param reload has the daemon read its configuration again
 */
public record RuntimeHost(
        RuntimeInstaller installer,
        DockerEngine engine,
        GpuInventory inventory,
        Supplier<Optional<Path>> real,
        Path config,
        CdiHost cdi,
        Path program,
        BooleanSupplier pods,
        Reload reload) {
    private static final Logger LOG = LoggerFactory.getLogger(RuntimeHost.class);
    private static final Duration LIMIT = Duration.ofSeconds(5);
    private static final int LONGEST_PROGRAM = 1 << 24;
    private static final Duration PAUSE = Duration.ofMillis(100);

    /** Begins our runtime's message in an engine's error. */
    private static final String REFUSED = "jnvdocker: ";

    /** Reads our configuration again. */
    @FunctionalInterface
    public interface Reload {
        /**
         * @throws IOException naming the mistake; the previous settings stay in force then
         */
        void perform() throws IOException;
    }

    /** How each that was laid out fares. */
    List<RuntimeHealth> health() throws IOException, RefusedException {
        return installer.health(this::runtimes, engine.socket());
    }

    /** Updates the programs that are installed for engines to this version. */
    public void refresh() {
        try {
            installer.renew().forEach(program -> LOG.info("updated {} to this version", program));
        } catch (RefusedException e) {
            LOG.warn("{}", e.getMessage());
        } catch (IOException e) {
            LOG.warn(
                    "the installed OCI runtime stays as it is: {}; run 'jnvdocker runtime install'"
                            + " again",
                    FileErrors.describe(e));
        }
    }

    /** Waits until the engine, which was just reloaded, has that program by that name. */
    boolean awaitRuntime(String name, Path its) {
        long deadline = System.nanoTime() + LIMIT.toNanos();
        while (true) {
            if (runtimes().filter(it -> its.toString().equals(it.paths().get(name))).isPresent()) {
                return true;
            }
            if (System.nanoTime() > deadline) {
                return false;
            }
            LockSupport.parkNanos(PAUSE.toNanos());
        }
    }

    private byte[] content() throws IOException {
        return RegularFile.read(program, LONGEST_PROGRAM)
                .orElseThrow(() -> new NoSuchFileException(program.toString()));
    }

    /** Has the engine start a container with that runtime and one GPU; returns a report. */
    String tryRuntime(String name) throws IOException {
        try {
            TrialContainer.start(engine, name, content());
            return "tried it: a container with the runtime '" + name + "' got a GPU";
        } catch (EngineException e) {
            String why = e.refusal().what();
            int ours = why.indexOf(REFUSED);
            return "tried it: a container with the runtime '"
                    + name
                    + "' got no GPU: "
                    + Quote.lines(ours < 0 ? why : why.substring(ours + REFUSED.length()).strip());
        }
    }

    /** The engine's runtimes; empty when it does not answer. */
    Optional<EngineRuntimes> runtimes() {
        try {
            return Optional.of(engine.facts(LIMIT).runtimes());
        } catch (EngineException e) {
            return Optional.empty();
        }
    }
}
