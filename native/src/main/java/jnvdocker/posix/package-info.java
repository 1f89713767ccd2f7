/** System calls that Java lacks, by JNA and jnr-posix. An error is an exception with its errno. */
package jnvdocker.posix;
