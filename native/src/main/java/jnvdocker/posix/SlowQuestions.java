package jnvdocker.posix;

import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;

/**
 * Questions that may be answered late or never, and that nothing can call off. They are asked on a
 * few threads of their own; answers are remembered. Nobody waits for one longer than he likes, nor
 * for one that has kept somebody waiting so long already.
 */
final class SlowQuestions<Q, A> {
    private static final long KNOWN_NANOS = TimeUnit.MINUTES.toNanos(10);

    /** Also for questions that have failed: who asked waits no second time so soon. */
    private static final long UNKNOWN_NANOS = TimeUnit.MINUTES.toNanos(1);

    private static final int REMEMBERED = 4096;
    private static final int OPEN = 256;
    private static final int IDLE_SECONDS = 60;

    /** What is asked, on a thread that it may block. */
    interface Question<Q, A> {
        /** Empty when there is no such thing. */
        Optional<A> ask(Q about) throws PosixException;
    }

    /**
     * @param answer null when the question has failed
     */
    private record Known<A>(Optional<A> answer, long until) {}

    private record Open<A>(CompletableFuture<Known<A>> future, long since) {}

    private final Question<Q, A> question;
    private final LongSupplier nanos;
    private final ThreadPoolExecutor threads;
    private final Map<Q, Open<A>> open = new HashMap<>();
    private final Map<Q, Known<A>> known =
            new LinkedHashMap<>(16, 0.75f, true) {
                private static final long serialVersionUID = 1L;

                @Override
                protected boolean removeEldestEntry(Map.Entry<Q, Known<A>> eldest) {
                    return size() > REMEMBERED;
                }
            };

    /**
     * @param threads on which so many questions are asked at a time
     */
    SlowQuestions(String name, int threads, Question<Q, A> question, LongSupplier nanos) {
        this.question = question;
        this.nanos = nanos;
        this.threads =
                new ThreadPoolExecutor(
                        threads,
                        threads,
                        IDLE_SECONDS,
                        TimeUnit.SECONDS,
                        new LinkedBlockingQueue<>(),
                        Thread.ofPlatform().daemon().name(name + "-", 0).factory());
        this.threads.allowCoreThreadTimeOut(true);
    }

    /**
     * @return empty when there is no such thing
     * @throws NoAnswerException when nobody has said so in that time, since somebody first asked
     */
    Optional<A> ask(Q about, Duration patience) throws NoAnswerException {
        Open<A> asked;
        synchronized (this) {
            Known<A> remembered = known.get(about);
            if (remembered != null && nanos.getAsLong() - remembered.until() < 0) {
                return answer(remembered);
            }
            asked = open(about);
        }
        if (asked != null) {
            long left = patience.toNanos() - (nanos.getAsLong() - asked.since());
            try {
                return answer(asked.future().get(Math.max(left, 0), TimeUnit.NANOSECONDS));
            } catch (TimeoutException e) {
                // What was so is more likely so than not.
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } catch (ExecutionException e) {
                throw new IllegalStateException(e.getCause());
            }
        }
        synchronized (this) {
            return answer(known.get(about));
        }
    }

    private Optional<A> answer(Known<A> known) throws NoAnswerException {
        if (known == null || known.answer() == null) {
            throw new NoAnswerException();
        }
        return known.answer();
    }

    /** Null when too many are open. */
    private Open<A> open(Q about) {
        Open<A> asked = open.get(about);
        if (asked == null && open.size() < OPEN) {
            asked = new Open<>(new CompletableFuture<>(), nanos.getAsLong());
            open.put(about, asked);
            threads.execute(() -> perform(about));
        }
        return asked;
    }

    private void perform(Q about) {
        Optional<A> answer = null;
        try {
            answer = question.ask(about);
        } catch (PosixException e) {
            // As if there were no answer.
        } finally {
            long valid = answer != null && answer.isPresent() ? KNOWN_NANOS : UNKNOWN_NANOS;
            Known<A> found = new Known<>(answer, nanos.getAsLong() + valid);
            CompletableFuture<Known<A>> future;
            Known<A> kept;
            synchronized (this) {
                kept = known.merge(about, found, SlowQuestions::later);
                future = open.remove(about).future();
            }
            future.complete(kept);
        }
    }

    /** A question that fails does not undo an answer. */
    private static <A> Known<A> later(Known<A> before, Known<A> now) {
        return now.answer() == null ? new Known<>(before.answer(), now.until()) : now;
    }
}
