package jnvdocker.use;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * An answer that takes a while, for many who ask at once. Each gets one to a question that was put
 * after it came; those who came while another was being answered share the next.
 */
public final class SharedAnswer<T> {
    private final Lock turn = new ReentrantLock();
    private final AtomicLong came = new AtomicLong();
    private long answered;
    private T last;

    /** An answer to the question, put now or by somebody who comes as well. */
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
