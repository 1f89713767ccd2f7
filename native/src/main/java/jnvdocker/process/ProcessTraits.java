package jnvdocker.process;

import java.util.Optional;

/**
 * What a process is called and whose it is.
 *
 * @param name as {@code ps -o comm} shows it, at most 15 characters; a process may choose it
 * @param program the name of the file that it runs; empty for one that cannot be told
 * @param uid of the user who logged in for it, where one did, else of the user it runs as
 * @param container the id of the container it is in, as its cgroup is named
 */
public record ProcessTraits(String name, String program, int uid, Optional<String> container) {}
