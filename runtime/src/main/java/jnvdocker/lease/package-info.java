/**
 * Who has which GPU. A claim is a container's right to ask for certain GPUs and lives as long as
 * the container; a lease is one period of holding them, and ends on evidence that its holder is
 * gone.
 */
package jnvdocker.lease;
