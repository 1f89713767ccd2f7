/**
 * What people type: each command talks to one client, and decides nothing that is not about talk.
 */
package jnvdocker.command;
