package jnvdocker.cuda;

import jnvdocker.labels.CudaVersion;
import jnvdocker.labels.DriverBranches;
import jnvdocker.labels.DriverFacts;
import jnvdocker.labels.DriverVersion;
import jnvdocker.posix.FileErrors;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The CUDA version of the loaded driver. The driver is asked once; its answer is remembered, in
 * memory and on disk, until another driver is loaded. Asking takes about a second and is done in
 * the background.
 *
 * <p>If the driver has not answered, its branch in {@link DriverBranches} counts. The version of a
 * driver that is missing in that table, too, is unknown.
 */
public final class CudaVersions {
    private static final Logger LOG = LoggerFactory.getLogger(CudaVersions.class);

    private static final String FILE = "cuda-version";

    /** The obstacle may have gone by then: a library that was not installed yet, say. */
    private static final Duration RETRY = Duration.ofMinutes(1);

    /** A way to ask a driver. */
    public interface Source {
        CudaVersion ask(DriverVersion driver) throws IOException;
    }

    private final Path file;
    private final Source source;
    private final Duration patience;
    private final Duration retry;
    private Question last;

    private record Question(
            DriverVersion driver,
            CompletableFuture<Optional<CudaVersion>> answer,
            long askedNanos) {

        boolean isStillGood(DriverVersion wanted, Duration retry) {
            return driver.equals(wanted)
                    && (!answer.isDone()
                            || answer.join().isPresent()
                            || System.nanoTime() - askedNanos < retry.toNanos());
        }
    }

    /**
     * @param patience how long {@link #of} waits for an answer
     */
    public CudaVersions(Path stateFolder, Source source, Duration patience) {
        this(stateFolder, source, patience, RETRY);
    }

    CudaVersions(Path stateFolder, Source source, Duration patience, Duration retry) {
        this.file = stateFolder.resolve(FILE);
        this.source = source;
        this.patience = patience;
        this.retry = retry;
    }

    /** Has the driver asked, without waiting. */
    public void prepare(DriverVersion driver) {
        question(driver);
    }

    /**
     * Returns the driver's answer if it comes soon, else the table's; empty when the table does not
     * know the driver either.
     */
    public Optional<CudaVersion> of(DriverVersion driver) {
        return answer(question(driver)).or(() -> DriverBranches.cudaOf(driver));
    }

    /**
     * Returns the facts that images are checked against, with the CUDA version as far as {@link
     * #of} knows it.
     */
    public DriverFacts facts(DriverVersion driver) {
        DriverFacts facts = DriverFacts.of(driver);
        return of(driver).map(facts::withCuda).orElse(facts);
    }

    private Optional<CudaVersion> answer(Question question) {
        try {
            return question.answer().get(patience.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        }
    }

    private synchronized Question question(DriverVersion driver) {
        if (last == null || !last.isStillGood(driver, retry)) {
            var answer =
                    CompletableFuture.supplyAsync(() -> find(driver), Thread::startVirtualThread);
            last = new Question(driver, answer, System.nanoTime());
        }
        return last;
    }

    private Optional<CudaVersion> find(DriverVersion driver) {
        Optional<CudaVersion> there = remembered(driver);
        if (there.isPresent()) {
            return there;
        }
        try {
            CudaVersion cuda = source.ask(driver);
            LOG.info("driver {} supports CUDA {}", driver, cuda);
            remember(new RememberedCuda(driver, cuda));
            return Optional.of(cuda);
        } catch (IOException e) {
            LOG.warn(
                    "driver {} does not say which CUDA version it supports: {}; {}",
                    driver,
                    FileErrors.describe(e),
                    DriverBranches.cudaOf(driver)
                            .map(cuda -> "taken for " + cuda + ", as its branch does")
                            .orElse(
                                    "its branch is not known either, so no image is refused for"
                                            + " it"));
            return Optional.empty();
        }
    }

    private Optional<CudaVersion> remembered(DriverVersion driver) {
        try {
            return RememberedCuda.read(file)
                    .filter(it -> it.driver().equals(driver))
                    .map(RememberedCuda::cuda);
        } catch (IOException e) {
            LOG.warn("{}; the driver is asked again", FileErrors.describe(e));
            return Optional.empty();
        }
    }

    /**
     * Keeps the version of the driver that was loaded last; if it cannot be kept, the driver is
     * asked again.
     */
    private void remember(RememberedCuda answer) {
        try {
            answer.write(file);
        } catch (IOException e) {
            LOG.warn("{}; the driver is asked again at the next start", FileErrors.describe(e));
        }
    }
}
