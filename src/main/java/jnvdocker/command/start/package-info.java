/**
 * {@code jnvdocker run} and {@code create}: docker's own words with the GPUs added. Start at {@link
 * StartContainer}.
 */
package jnvdocker.command.start;
