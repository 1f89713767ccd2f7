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
 * Queries that may be answered late or never, and that cannot be cancelled. They run on a few
 * threads of their own; answers are remembered. A caller sets how long it waits, and does not wait
 * for a query that has already kept another caller waiting for that long.
 */
final class SlowQueries<Q, A> {
    private static final Duration KNOWN = Duration.ofMinutes(10);

    /** How long a failed query is remembered, so that a caller does not wait again so soon. */
    private static final long UNKNOWN_NANOS = TimeUnit.MINUTES.toNanos(1);

    private static final int REMEMBERED = 4096;
    private static final int OPEN = 256;
    private static final int IDLE_SECONDS = 60;

    /** A query, which runs on a thread that it may block. */
    interface Question<Q, A> {
        /** Empty when the thing in question does not exist. */
        Optional<A> query(Q about) throws PosixException;
    }

    /**
     * @param answer null when the query has failed
     */
    private record Known<A>(Optional<A> answer, long until) {}

    private record Open<A>(CompletableFuture<Known<A>> future, long since) {}

    private final Question<Q, A> question;
    private final LongSupplier nanos;
    private final long knownNanos;
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
     * @param threads the number of queries that run at a time
     */
    SlowQueries(String name, int threads, Question<Q, A> question, LongSupplier nanos) {
        this(name, threads, question, nanos, KNOWN);
    }

    /**
     * Remembers answers for another time.
     *
     * @param known how long an answer is believed
     */
    SlowQueries(
            String name, int threads, Question<Q, A> question, LongSupplier nanos, Duration known) {
        this.question = question;
        this.nanos = nanos;
        knownNanos = known.toNanos();
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
     * @return empty when the thing in question does not exist
     * @throws NoAnswerException when no answer has come in that time, counted from the first
     *     caller's query
     */
    Optional<A> query(Q about, Duration patience) throws NoAnswerException {
        Open<A> pending;
        synchronized (this) {
            Known<A> remembered = known.get(about);
            if (remembered != null && nanos.getAsLong() - remembered.until() < 0) {
                return answer(remembered);
            }
            pending = open(about);
        }
        if (pending != null) {
            long left = patience.toNanos() - (nanos.getAsLong() - pending.since());
            try {
                return answer(pending.future().get(Math.max(left, 0), TimeUnit.NANOSECONDS));
            } catch (TimeoutException e) {
                // An earlier answer is more likely to hold than not.
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

    /** Returns null when too many are open. */
    private Open<A> open(Q about) {
        Open<A> pending = open.get(about);
        if (pending == null && open.size() < OPEN) {
            pending = new Open<>(new CompletableFuture<>(), nanos.getAsLong());
            open.put(about, pending);
            threads.execute(() -> perform(about));
        }
        return pending;
    }

    private void perform(Q about) {
        Optional<A> answer = null;
        try {
            answer = question.query(about);
        } catch (PosixException e) {
            // Treated as no answer.
        } finally {
            long valid =
                    answer != null && answer.isPresent()
                            ? knownNanos
                            : Math.min(knownNanos, UNKNOWN_NANOS);
            Known<A> found = new Known<>(answer, nanos.getAsLong() + valid);
            CompletableFuture<Known<A>> future;
            Known<A> kept;
            synchronized (this) {
                kept = known.merge(about, found, SlowQueries::later);
                future = open.remove(about).future();
            }
            future.complete(kept);
        }
    }

    /** A query that fails does not replace an answer. */
    private static <A> Known<A> later(Known<A> before, Known<A> now) {
        return now.answer() == null ? new Known<>(before.answer(), now.until()) : now;
    }
}
