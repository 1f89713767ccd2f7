/**
 * System calls that Java lacks, by JNA and jnr-posix. An error is an exception with its errno.
 * Start at {@link Posix}; {@link HostNames} has the names of users, which may be slow to come.
 */
package jnvdocker.posix;
