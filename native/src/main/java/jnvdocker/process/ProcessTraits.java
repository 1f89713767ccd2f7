package jnvdocker.process;

import java.util.Optional;

/**
 * The name and owner of a process.
 *
 * @param name as {@code ps -o comm} shows it, at most 15 characters; a process may choose it
 * @param program the name of the file that it runs; empty if that is unknown
 * @param uid the user whose login it comes from, if any, else the user it runs as
 * @param container the id of the container it is in, from the name of its cgroup
 * @param other the container of another engine than Docker that it is in, likewise
 */
public record ProcessTraits(
        String name,
        String program,
        int uid,
        Optional<String> container,
        Optional<OtherContainer> other) {}
