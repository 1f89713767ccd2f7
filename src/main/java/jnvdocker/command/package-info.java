/**
 * The commands that people type: each talks to one client, and contains no other decisions. Start
 * at {@link Commands}.
 */
package jnvdocker.command;
