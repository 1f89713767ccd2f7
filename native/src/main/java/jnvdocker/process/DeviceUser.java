package jnvdocker.process;

import jnvdocker.posix.ProcessId;

import java.util.Collections;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * A process that has device nodes open.
 *
 * @param minors the minors of the devices of GPUs
 * @param graphics the minors of the graphics nodes, whichever card's
 */
public record DeviceUser(
        ProcessId process, SortedSet<Integer> minors, SortedSet<Integer> graphics) {
    public DeviceUser {
        minors = Collections.unmodifiableSortedSet(new TreeSet<>(minors));
        graphics = Collections.unmodifiableSortedSet(new TreeSet<>(graphics));
    }
}
