package jnvdocker.use;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

class SharedAnswerTest {
    private final SharedAnswer<Integer> answer = new SharedAnswer<>();
    private final AtomicInteger requested = new AtomicInteger();

    @Test
    void laterCallerGetsALaterAnswer() {
        assertEquals(1, answer.get(requested::incrementAndGet));
        assertEquals(2, answer.get(requested::incrementAndGet));
    }

    @Test
    void callersThatComeMeanwhileShareTheNext() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<Integer> first =
                    threads.submit(() ->
                            answer.get(() -> {
                                begun.countDown();
                                await(go);
                                return requested.incrementAndGet();
                            }));
            begun.await();
            List<Future<Integer>> others = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                others.add(threads.submit(() -> answer.get(requested::incrementAndGet)));
            }
            Thread.sleep(50);
            go.countDown();
            assertEquals(1, first.get());
            for (Future<Integer> other : others) {
                assertTrue(other.get() > 1, "it began before that one came");
            }
            assertTrue(requested.get() <= 3, "requested " + requested + " times");
        }
    }

    @Test
    void afterAFailureTheRequestIsRepeated() {
        assertThrows(
                IllegalStateException.class,
                () ->
                        answer.get(() -> {
                            throw new IllegalStateException("no answer");
                        }));
        assertEquals(1, answer.get(requested::incrementAndGet));
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
