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
    private final Fact<String> id = new Fact<>();
    private final Fact<EngineRuntimes> runtimes = new Fact<>();
    private final Fact<EngineProduct> product = new Fact<>();

    private static final class Fact<T> {
        private T value;
    }

    /** A question to the engine. */
    @FunctionalInterface
    interface Question<T> {
        T query() throws EngineException;
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
        id.value = null;
        runtimes.value = null;
        product.value = null;
    }

    /** Whether it has reported its id while its events are followed. */
    synchronized boolean hasAnswered() {
        return answered;
    }

    synchronized Optional<String> knownId() {
        return Optional.ofNullable(id.value);
    }

    synchronized Optional<EngineRuntimes> knownRuntimes() {
        return Optional.ofNullable(runtimes.value);
    }

    String id(Question<String> question) throws EngineException {
        String answer = remembered(id, question);
        synchronized (this) {
            answered |= id.value != null;
        }
        return answer;
    }

    EngineRuntimes runtimes(Question<EngineRuntimes> question) throws EngineException {
        return remembered(runtimes, question);
    }

    EngineProduct product(Question<EngineProduct> question) throws EngineException {
        return remembered(product, question);
    }

    private <T> T remembered(Fact<T> fact, Question<T> question) throws EngineException {
        int before;
        synchronized (this) {
            if (fact.value != null) {
                return fact.value;
            }
            before = generation;
        }
        T answer = question.query();
        synchronized (this) {
            // If a change was reported during the query, the answer may be older.
            if (followed && before == generation) {
                fact.value = answer;
            }
        }
        return answer;
    }
}
