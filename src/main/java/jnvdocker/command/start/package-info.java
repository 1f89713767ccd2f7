/**
 * {@code jnvdocker run} and {@code create}: docker's own commands with the GPUs added. Start at
 * {@link StartContainer}.
 */
package jnvdocker.command.start;
