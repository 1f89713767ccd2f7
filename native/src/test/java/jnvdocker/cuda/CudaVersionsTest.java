package jnvdocker.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.labels.CudaVersion;
import jnvdocker.labels.DriverVersion;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;

@Timeout(60)
class CudaVersionsTest {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final DriverVersion DRIVER_535 = DriverVersion.parse("535.104.05");
    private static final DriverVersion DRIVER_550 = DriverVersion.parse("550.54.14");
    private static final DriverVersion UNHEARD_OF = DriverVersion.parse("999.10");
    private static final Optional<CudaVersion> OF_THE_TABLE = cuda("12.2");

    /** No table says this of a driver 535, so the driver must have been asked. */
    private static final Optional<CudaVersion> ASKED = cuda("12.9");

    @TempDir Path state;

    private final List<DriverVersion> questions = Collections.synchronizedList(new ArrayList<>());

    private static Optional<CudaVersion> cuda(String version) {
        return Optional.of(CudaVersion.parse(version));
    }

    private CudaVersion answer(DriverVersion driver) {
        questions.add(driver);
        return ASKED.orElseThrow();
    }

    private CudaVersion fail(DriverVersion driver) throws IOException {
        questions.add(driver);
        throw new IOException("no answer");
    }

    private CudaVersions answering() {
        return new CudaVersions(state, this::answer, LONG);
    }

    private CudaVersions failing() {
        return new CudaVersions(state, this::fail, LONG);
    }

    @Test
    void driversWordCountsMoreThanTheTable() {
        assertEquals(ASKED, answering().of(DRIVER_535));
    }

    @Test
    void driverIsAskedOnce() {
        CudaVersions versions = answering();
        versions.prepare(DRIVER_535);
        assertEquals(ASKED, versions.of(DRIVER_535));
        assertEquals(ASKED, versions.of(DRIVER_535));
        assertEquals(List.of(DRIVER_535), questions);
    }

    @Test
    void driverIsAskedOnceByACrowd() {
        CudaVersions versions = answering();
        List<CompletableFuture<Optional<CudaVersion>>> crowd =
                IntStream.range(0, 50)
                        .mapToObj(_ ->
                                CompletableFuture.supplyAsync(
                                        () -> versions.of(DRIVER_535), Thread::startVirtualThread))
                        .toList();
        crowd.forEach(one -> assertEquals(ASKED, one.join()));
        assertEquals(List.of(DRIVER_535), questions);
    }

    @Test
    void answerOutlivesTheDaemon() throws IOException {
        assertEquals(ASKED, answering().of(DRIVER_535));
        assertEquals("535.104.05 12.9\n", Files.readString(state.resolve("cuda-version")));
        assertEquals(ASKED, failing().of(DRIVER_535));
        assertEquals(List.of(DRIVER_535), questions);
    }

    @Test
    void anotherDriverIsAsked() throws IOException {
        CudaVersions versions = answering();
        versions.of(DRIVER_535);
        assertEquals(ASKED, versions.of(DRIVER_550));
        assertEquals("550.54.14 12.9\n", Files.readString(state.resolve("cuda-version")));
        assertEquals(ASKED, answering().of(DRIVER_535));
        assertEquals(List.of(DRIVER_535, DRIVER_550, DRIVER_535), questions);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "535.104.05",
                "535.104.05 0.0\n",
                "535.104.05 12.9",
                "535.104.05 12.9\nmore\n",
                "535.104.05 129\n",
                "535.104.05 -12.9\n",
                "..... 12.9\n",
                "\0\0\0\0\0\0\0\0"
            })
    void whatIsDamagedOnDiskIsAskedAgain(String text) throws IOException {
        Files.writeString(state.resolve("cuda-version"), text);
        assertEquals(ASKED, answering().of(DRIVER_535));
        assertEquals(List.of(DRIVER_535), questions);
        assertEquals("535.104.05 12.9\n", Files.readString(state.resolve("cuda-version")));
    }

    @Test
    void whatIsTooLongOnDiskIsAskedAgain() throws IOException {
        Files.writeString(state.resolve("cuda-version"), "535.104.05 12.2\n".repeat(1 << 20));
        assertEquals(ASKED, answering().of(DRIVER_535));
    }

    @Test
    void answerThatCannotBeKeptCounts() throws IOException {
        Files.createDirectories(state.resolve("cuda-version/in-the-way"));
        assertEquals(ASKED, answering().of(DRIVER_535));
        assertEquals(
                ASKED, new CudaVersions(state.resolve("x"), this::answer, LONG).of(DRIVER_535));
    }

    @Test
    void tableCountsWhereTheDriverDoesNotAnswer() {
        assertEquals(OF_THE_TABLE, failing().of(DRIVER_535));
        assertTrue(Files.notExists(state.resolve("cuda-version")));
    }

    @Test
    void driverThatDoesNotAnswerAndIsNotInTheTableIsUnknown() {
        assertEquals(Optional.empty(), failing().of(UNHEARD_OF));
        assertEquals(ASKED, answering().of(UNHEARD_OF));
    }

    @Test
    void tableCountsUntilTheDriverHasAnswered() {
        CountDownLatch mayAnswer = new CountDownLatch(1);
        CudaVersions versions =
                new CudaVersions(
                        state,
                        driver -> {
                            await(mayAnswer);
                            return answer(driver);
                        },
                        Duration.ofSeconds(2));
        assertEquals(OF_THE_TABLE, versions.of(DRIVER_535));
        mayAnswer.countDown();
        assertEquals(ASKED, versions.of(DRIVER_535));
        assertEquals(List.of(DRIVER_535), questions);
    }

    private static void await(CountDownLatch latch) throws IOException {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IOException(e);
        }
    }

    @Test
    void driverThatDidNotAnswerIsLeftAloneForAWhile() {
        CudaVersions versions = failing();
        versions.of(DRIVER_535);
        versions.of(DRIVER_535);
        assertEquals(List.of(DRIVER_535), questions);
    }

    @Test
    void driverThatDidNotAnswerIsAskedAgainLater() {
        CudaVersions versions =
                new CudaVersions(
                        state,
                        driver -> questions.isEmpty() ? fail(driver) : answer(driver),
                        LONG,
                        Duration.ZERO);
        assertEquals(OF_THE_TABLE, versions.of(DRIVER_535));
        assertEquals(ASKED, versions.of(DRIVER_535));
        assertEquals(ASKED, versions.of(DRIVER_535));
        assertEquals(2, questions.size());
    }
}
