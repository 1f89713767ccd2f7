/**
 * System calls that Java lacks, by JNA and jnr-posix. An error is an exception with its errno.
 * Start at {@link Posix}; {@link HostNames} looks up the names of users, which may be slow.
 */
package jnvdocker.posix;
