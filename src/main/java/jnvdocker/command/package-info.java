/**
 * What people type: each command talks to one client, and decides nothing that is not about talk.
 * Start at {@link Commands}.
 */
package jnvdocker.command;
