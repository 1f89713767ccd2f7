/**
 * The files of the configuration as they are written: keys with values, lines and refusals. Start
 * at {@link ConfigFile}.
 *
 * <p>A feature declares its keys as a {@link ConfigTable}, beside the policy that they set; {@code
 * jnvdocker.daemon.Config} reads the others. What a key means does not belong here.
 */
package jnvdocker.config;
