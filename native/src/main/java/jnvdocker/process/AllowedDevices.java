package jnvdocker.process;

import jnvdocker.posix.ProcessId;

import java.util.Collections;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * Devices of one major that a cgroup of version 1 allows by name to who is in it.
 *
 * @param folder of the devices controller
 * @param process that is in it, or below it
 */
public record AllowedDevices(String folder, SortedSet<Integer> minors, ProcessId process) {
    public AllowedDevices {
        minors = Collections.unmodifiableSortedSet(new TreeSet<>(minors));
    }
}
