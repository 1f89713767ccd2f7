package jnvdocker.use;

import java.util.Set;

/** The processes that have memory of GPUs, as they are known by now. Nothing is waited for. */
@FunctionalInterface
public interface MemoryUsers {
    MemoryUsers UNKNOWN = _ -> Set.of();

    /**
     * @return pids in the daemon's pid namespace
     */
    Set<Integer> of(String uuid);
}
