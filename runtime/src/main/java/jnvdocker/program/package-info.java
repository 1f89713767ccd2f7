/**
 * Writes into a program of ours where things are. Start at {@link
 * jnvdocker.program.SettledProgram}.
 */
package jnvdocker.program;
