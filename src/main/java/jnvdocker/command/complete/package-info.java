/**
 * Completion in shells: what may be typed next. Start at {@link
 * jnvdocker.command.complete.Completion}.
 */
package jnvdocker.command.complete;
