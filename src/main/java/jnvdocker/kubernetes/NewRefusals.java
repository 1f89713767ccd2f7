package jnvdocker.kubernetes;

import jnvdocker.words.RefusedException;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/** Passes refusals on, but not the same ones again: a kubelet tries to start a pod for ever. */
final class NewRefusals {
    private static final int REMEMBERED = 256;

    private final Consumer<RefusedException> listener;
    private final Map<Set<String>, String> last = new LinkedHashMap<>();

    NewRefusals(Consumer<RefusedException> listener) {
        this.listener = listener;
    }

    void refused(Set<String> ids, RefusedException why) {
        if (isNew(ids, why.getMessage())) {
            listener.accept(why);
        }
    }

    private synchronized boolean isNew(Set<String> ids, String why) {
        String before = last.put(ids, why);
        if (last.size() > REMEMBERED) {
            last.keySet().remove(last.keySet().iterator().next());
        }
        return !why.equals(before);
    }

    /** The next refusal is a new one. */
    synchronized void over(Set<String> ids) {
        last.remove(ids);
    }
}
