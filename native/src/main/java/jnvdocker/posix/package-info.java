/**
 * System calls that Java lacks, by JNA. An error is an exception with its errno. Start at {@link
 * Posix}; {@link HostNames} finds the names of users, which may be slow.
 */
package jnvdocker.posix;
