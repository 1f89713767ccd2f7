package jnvdocker.core;

import jnvdocker.lease.HolderName;
import jnvdocker.words.Refusal;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;

/**
 * Containers that run without a GPU though something in them requests one, since that does not
 * count. Known as long as the daemon runs; of many, the last ones.
 */
public final class WithheldGpus {
    private static final int MOST = 256;

    private final Deque<Withheld> all = new ArrayDeque<>();

    /**
     * One such container.
     *
     * @param bundle the directory that its engine has for it while it runs
     */
    public record Withheld(String id, String name, Path bundle, Refusal reason, Instant since) {}

    public synchronized void add(Withheld container) {
        all.removeIf(other -> other.id().equals(container.id()) || !Files.exists(other.bundle()));
        all.addLast(container);
        if (all.size() > MOST) {
            all.removeFirst();
        }
    }

    /** The containers that still run, the oldest first. */
    public synchronized List<Withheld> running() {
        return all.stream().filter(each -> Files.exists(each.bundle())).toList();
    }

    /**
     * The first that a word means.
     *
     * @param container a name or an id, as {@link HolderName} has it
     */
    public Optional<Withheld> of(String container) {
        return running().stream()
                .filter(each ->
                        HolderName.isName(container, each.name())
                                || HolderName.isId(container, each.id()))
                .findFirst();
    }
}
