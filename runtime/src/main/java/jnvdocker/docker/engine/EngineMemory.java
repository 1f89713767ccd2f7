package jnvdocker.docker.engine;

import java.util.Optional;

/**
 * The facts that an engine has told of itself, kept as long as its events are followed: it tells
 * when it changes. Asking anew takes it some ten milliseconds each time.
 */
final class EngineMemory {
    private boolean followed;
    private boolean answered;
    private int generation;
    private String id;
    private EngineRuntimes runtimes;

    /** A question to the engine. */
    @FunctionalInterface
    interface Question<T> {
        T ask() throws EngineException;
    }

    /** Somebody follows its events from now on. */
    synchronized void follow() {
        forget();
        followed = true;
        answered = false;
    }

    /** Nobody does any more, and another engine may answer at this socket. */
    synchronized void leave() {
        forget();
        followed = false;
        answered = false;
    }

    /** The engine has read its configuration again. */
    synchronized void forget() {
        generation++;
        id = null;
        runtimes = null;
    }

    /** Whether it has told its id since somebody follows its events. */
    synchronized boolean hasAnswered() {
        return answered;
    }

    synchronized Optional<String> knownId() {
        return Optional.ofNullable(id);
    }

    synchronized Optional<EngineRuntimes> knownRuntimes() {
        return Optional.ofNullable(runtimes);
    }

    String id(Question<String> question) throws EngineException {
        int before;
        synchronized (this) {
            if (id != null) {
                return id;
            }
            before = generation;
        }
        String answer = question.ask();
        synchronized (this) {
            if (followed && before == generation) {
                id = answer;
                answered = true;
            }
        }
        return answer;
    }

    EngineRuntimes runtimes(Question<EngineRuntimes> question) throws EngineException {
        int before;
        synchronized (this) {
            if (runtimes != null) {
                return runtimes;
            }
            before = generation;
        }
        EngineRuntimes answer = question.ask();
        synchronized (this) {
            // Told while it answered: it may have answered before.
            if (followed && before == generation) {
                runtimes = answer;
            }
        }
        return answer;
    }
}
