package jnvdocker.posix;

/** The process at the other end of a Unix socket, as the kernel knows it. */
public record Peer(int pid, int uid) {}
