/**
 * Owns the driver's files: finds them on the host, lays them out as one folder per driver version.
 */
package jnvdocker.volume;
