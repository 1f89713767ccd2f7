package jnvdocker.rest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.command.gpu.show.GpuDocuments.GpuLine;
import jnvdocker.command.gpu.show.GpuDocuments.Snapshot;
import jnvdocker.decision.RefusalReason;
import jnvdocker.lease.Owner;
import jnvdocker.words.Refusal;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

class EventFeedTest {
    private static final Owner ALICE = new Owner(1001, "alice");
    private static final Duration LONG = Duration.ofSeconds(20);
    private static final Snapshot FREE = snapshot("free", "[]");

    private volatile Optional<Snapshot> now = Optional.of(FREE);
    private final AtomicInteger scans = new AtomicInteger();
    private EventFeed feed = feed(Duration.ofSeconds(30), 256);

    private EventFeed feed(Duration patience, int kept) {
        return new EventFeed(
                () -> {
                    scans.incrementAndGet();
                    return now.orElseThrow(() -> new IOException("the registry is gone"));
                },
                new EventFeed.Pace(Duration.ofMillis(10), patience, kept));
    }

    private static Snapshot snapshot(String state, String queue) {
        return new Snapshot(
                List.of(new GpuLine("GPU-0", state, "{\"state\":\"" + state + "\"}")), "[]", queue);
    }

    @AfterEach
    void close() {
        feed.close();
    }

    private static FeedEvent next(EventLog.Reader reader) throws InterruptedException {
        return reader.next(LONG).orElseThrow(() -> new AssertionError("nothing happens"));
    }

    private void refuse(String reason) {
        feed.refused(ALICE, "container train", new Refusal(reason, "wait"), RefusalReason.TAKEN);
    }

    @Test
    void streamBeginsWithEverythingAndGoesOnWithWhatDiffers() throws Exception {
        try (EventLog.Reader reader = feed.open(Optional.empty())) {
            FeedEvent state = next(reader);
            assertEquals(FeedEvent.Kind.STATE, state.kind());
            assertEquals(
                    "{\"gpus\":[{\"state\":\"free\"}],\"leases\":[],\"queue\":[]}", state.data());
            now = Optional.of(snapshot("held", "[]"));
            FeedEvent gpu = next(reader);
            assertEquals(FeedEvent.Kind.GPU, gpu.kind());
            assertEquals("{\"state\":\"held\"}", gpu.data());
            now = Optional.of(snapshot("held", "[{}]"));
            FeedEvent queue = next(reader);
            assertEquals(FeedEvent.Kind.QUEUE, queue.kind());
            assertEquals("[{}]", queue.data());
            assertNotEquals(gpu.id(), queue.id());
            now = Optional.of(new Snapshot(List.of(), "[]", "[{}]"));
            assertEquals(FeedEvent.Kind.STATE, next(reader).kind());
        }
    }

    @Test
    void refusalIsReported() throws Exception {
        try (EventLog.Reader reader = feed.open(Optional.empty())) {
            next(reader);
            refuse("GPU 0 is held");
            FeedEvent refused = next(reader);
            assertTrue(
                    refused.text()
                            .matches(
                                    "id: \\w+-1\n"
                                        + "event: refused\n"
                                        + "data: \\{\"at\":\"[^\"]+\","
                                        + "\"user\":\"alice\",\"uid\":1001,\"purpose\":\"container"
                                        + " train\",\"reason\":\"taken\",\"message\":\"GPU 0 is"
                                        + " held\",\"remedy\":\"wait\"\\}\n\n"),
                    refused::text);
        }
    }

    @Test
    void readerThatComesBackGetsWhatItHasMissed() throws Exception {
        FeedEvent last;
        try (EventLog.Reader other = feed.open(Optional.empty())) {
            next(other);
            try (EventLog.Reader reader = feed.open(Optional.empty())) {
                next(reader);
                refuse("the first");
                last = next(reader);
            }
            refuse("the second");
            next(other);
            next(other);
        }
        try (EventLog.Reader again = feed.open(Optional.of(last.id()))) {
            assertEquals(1, again.missed().size());
            assertTrue(again.missed().getFirst().data().contains("the second"));
            refuse("the third");
            assertTrue(next(again).data().contains("the third"));
        }
        try (EventLog.Reader unknown = feed.open(Optional.of("another-1"))) {
            assertEquals(FeedEvent.Kind.STATE, next(unknown).kind());
        }
    }

    @Test
    void slowReaderIsGivenUpAlone() throws Exception {
        feed = feed(Duration.ofSeconds(30), 4);
        try (EventLog.Reader slow = feed.open(Optional.empty());
                EventLog.Reader quick = feed.open(Optional.empty())) {
            next(quick);
            for (int i = 0; i < 20; i++) {
                refuse("number " + i);
                assertTrue(next(quick).data().contains("number " + i));
            }
            for (int i = 0; i < 4; i++) {
                next(slow);
            }
            assertTrue(slow.isOver());
        }
    }

    @Test
    void moreDecisionsThanCanBeReportedBreakTheStreamAndDelayNobody() throws Exception {
        try (EventLog.Reader reader = feed.open(Optional.empty())) {
            next(reader);
            long begin = System.nanoTime();
            for (int i = 0; i < 100_000; i++) {
                refuse("number " + i);
            }
            assertTrue(Duration.ofNanos(System.nanoTime() - begin).toSeconds() < 10);
            long deadline = System.nanoTime() + LONG.toNanos();
            while (!reader.isOver() && System.nanoTime() < deadline) {
                reader.next(Duration.ofMillis(10));
            }
            assertTrue(reader.isOver());
        }
    }

    @Test
    void failedScanBreaksTheStream() throws Exception {
        now = Optional.empty();
        try (EventLog.Reader reader = feed.open(Optional.empty())) {
            await(reader::isOver);
        }
        now = Optional.of(FREE);
        try (EventLog.Reader reader = feed.open(Optional.empty())) {
            assertEquals(FeedEvent.Kind.STATE, next(reader).kind());
        }
    }

    @Test
    void nobodyLooksWhenNobodyReads() throws Exception {
        feed = feed(Duration.ofMillis(50), 256);
        refuse("nobody reads");
        try (EventLog.Reader reader = feed.open(Optional.empty())) {
            assertEquals(FeedEvent.Kind.STATE, next(reader).kind());
        }
        await(() -> {
            int before = scans.get();
            LockSupport.parkNanos(200_000_000);
            return scans.get() == before;
        });
        try (EventLog.Reader reader = feed.open(Optional.empty())) {
            assertEquals(FeedEvent.Kind.STATE, next(reader).kind());
        }
    }

    private static void await(BooleanSupplier condition) {
        long deadline = System.nanoTime() + LONG.toNanos();
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "it does not happen");
            LockSupport.parkNanos(5_000_000);
        }
    }
}
