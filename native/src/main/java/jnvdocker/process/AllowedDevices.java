package jnvdocker.process;

import jnvdocker.posix.ProcessId;

import java.util.Collections;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * Devices of one major that a cgroup of version 1 allows its processes by number.
 *
 * @param directory in the hierarchy of the devices controller
 * @param process a process in the cgroup, or below it
 */
public record AllowedDevices(String directory, SortedSet<Integer> minors, ProcessId process) {
    public AllowedDevices {
        minors = Collections.unmodifiableSortedSet(new TreeSet<>(minors));
    }
}
