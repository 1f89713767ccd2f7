package jnvdocker.process;

import jnvdocker.posix.ProcessId;

import java.util.Collections;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * A process that has device nodes open.
 *
 * @param minors the minors of their devices
 */
public record DeviceUser(ProcessId process, SortedSet<Integer> minors) {
    public DeviceUser {
        minors = Collections.unmodifiableSortedSet(new TreeSet<>(minors));
    }
}
