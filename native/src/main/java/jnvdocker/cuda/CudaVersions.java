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
 * The CUDA version of the driver that is loaded: asked of the driver once and remembered, here and
 * on disk, until another driver is loaded. Asking takes about a second and is done in the
 * background.
 *
 * <p>Where the driver has not answered, its branch in {@link DriverBranches} counts. A driver that
 * is not in that table either has no known version.
 */
public final class CudaVersions {
    private static final Logger LOG = LoggerFactory.getLogger(CudaVersions.class);

    private static final String FILE = "cuda-version";

    /** What was in the way may have gone by then: a library that was not installed yet, say. */
    private static final Duration RETRY = Duration.ofMinutes(1);

    /** How a driver is asked. */
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

    /** Has the driver asked, and does not wait. */
    public void prepare(DriverVersion driver) {
        question(driver);
    }

    /**
     * What the driver answers, if it does so soon, else what the table says; empty when that does
     * not know it either.
     */
    public Optional<CudaVersion> of(DriverVersion driver) {
        return answer(question(driver)).or(() -> DriverBranches.cudaOf(driver));
    }

    /** What an image is checked against, with the CUDA version as far as {@link #of} knows it. */
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

    /** That of the driver that was loaded last; where it cannot be kept, it is asked for again. */
    private void remember(RememberedCuda answer) {
        try {
            answer.write(file);
        } catch (IOException e) {
            LOG.warn("{}; the driver is asked again at the next start", FileErrors.describe(e));
        }
    }
}
