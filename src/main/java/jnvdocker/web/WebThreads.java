package jnvdocker.web;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The threads that pages are made on. A few of the machine's for whole pages, so that what a page
 * does in files and libraries delays no command; one of these for questions over TCP, which every
 * user of the host can send: they delay no page of a member of the socket's group, and take one
 * processor at most. A virtual thread for each stream.
 */
final class WebThreads implements AutoCloseable {
    private static final int IDLE_SECONDS = 30;

    /**
     * @param pages how many are made at a time for those who connect to the socket
     * @param waiting how many may wait for that, and how many over TCP
     * @param streams how many are open at a time
     * @param userStreams how many of these may be one user's
     */
    record Limits(int pages, int waiting, int streams, int userStreams) {
        static final Limits USUAL = new Limits(2, 64, 64, 16);
    }

    private final Limits limits;
    private final ThreadPoolExecutor pages;
    private final ThreadPoolExecutor strangers;
    private final Map<Integer, Integer> streamsByUser = new HashMap<>();
    private int streams;

    WebThreads(Limits limits) {
        this.limits = limits;
        pages = threads("web-", limits.pages(), limits.waiting());
        strangers = threads("web-tcp-", 1, limits.waiting());
    }

    private static ThreadPoolExecutor threads(String name, int number, int waiting) {
        ThreadPoolExecutor threads =
                new ThreadPoolExecutor(
                        number,
                        number,
                        IDLE_SECONDS,
                        TimeUnit.SECONDS,
                        new ArrayBlockingQueue<>(waiting),
                        Thread.ofPlatform().daemon().name(name, 0).factory());
        threads.allowCoreThreadTimeOut(true);
        return threads;
    }

    /**
     * Makes a page.
     *
     * @param trusted whether it is for a client of the socket
     * @return whether there was room
     */
    boolean page(boolean trusted, Runnable task) {
        try {
            (trusted ? pages : strangers).execute(task);
            return true;
        } catch (RejectedExecutionException e) {
            return false;
        }
    }

    /** Takes a place for one more stream of a user; false when none is left. */
    synchronized boolean take(int uid) {
        int its = streamsByUser.getOrDefault(uid, 0);
        if (streams >= limits.streams() || its >= limits.userStreams()) {
            return false;
        }
        streams++;
        streamsByUser.put(uid, its + 1);
        return true;
    }

    /** Gives back the place of a stream. */
    synchronized void give(int uid) {
        streams--;
        streamsByUser.computeIfPresent(uid, (_, its) -> its == 1 ? null : its - 1);
    }

    @Override
    public void close() {
        pages.shutdownNow();
        strangers.shutdownNow();
    }
}
