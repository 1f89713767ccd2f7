/**
 * Keeps the driver's files, one directory per driver version, and serves them so that nobody can
 * write to them. Start at {@link DriverVolumeStore}, then {@link ServedVolumes}.
 */
package jnvdocker.volume;
