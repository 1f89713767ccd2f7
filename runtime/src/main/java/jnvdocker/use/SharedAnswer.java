package jnvdocker.use;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * An answer that takes a while, for many callers at once. Each gets one to a question that was put
 * after its call; those that came while another question was being answered share the next.
 */
public final class SharedAnswer<T> {
    private final Lock turn = new ReentrantLock();
    private final AtomicLong came = new AtomicLong();
    private long answered;
    private T last;

    /** An answer to the question, put after this call by this caller or by another one. */
    public T get(Supplier<T> question) {
        long number = came.incrementAndGet();
        turn.lock();
        try {
            if (answered < number) {
                long now = came.get();
                last = question.get();
                answered = now;
            }
            return last;
        } finally {
            turn.unlock();
        }
    }
}
