/**
 * Finds the driver's libraries and programs on the host, wherever its distribution has put them.
 * Start at {@link DriverFiles}.
 */
package jnvdocker.volume.files;
