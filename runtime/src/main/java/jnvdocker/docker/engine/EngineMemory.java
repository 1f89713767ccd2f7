package jnvdocker.docker.engine;

import java.util.Optional;

/**
 * The facts that an engine has reported about itself, kept as long as its events are followed:
 * these report when it changes. Each new query takes it some ten milliseconds.
 */
final class EngineMemory {
    private boolean followed;
    private boolean answered;
    private int generation;
    private Optional<EngineFacts> known = Optional.empty();

    /** A question to the engine. */
    @FunctionalInterface
    interface Question {
        EngineFacts query() throws EngineException;
    }

    /** Called when a listener follows the engine's events. */
    synchronized void follow() {
        forget();
        followed = true;
        answered = false;
    }

    /** Called when no listener follows the events any more: another engine may answer here. */
    synchronized void leave() {
        forget();
        followed = false;
        answered = false;
    }

    /** The engine has read its configuration again. */
    synchronized void forget() {
        generation++;
        known = Optional.empty();
    }

    /** Whether it has reported its facts while its events are followed. */
    synchronized boolean hasAnswered() {
        return answered;
    }

    synchronized Optional<EngineFacts> known() {
        return known;
    }

    EngineFacts facts(Question question) throws EngineException {
        int before;
        synchronized (this) {
            if (known.isPresent()) {
                return known.get();
            }
            before = generation;
        }
        EngineFacts answer = question.query();
        synchronized (this) {
            // If a change was reported during the query, the answer may be older.
            if (followed && before == generation) {
                known = Optional.of(answer);
                answered = true;
            }
        }
        return answer;
    }
}
