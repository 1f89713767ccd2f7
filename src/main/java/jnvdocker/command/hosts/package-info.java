/**
 * Queries several hosts about their GPUs, for {@code --on}. The client, which is its user's process
 * and has the user's keys, runs ssh to all of them at a time; each answers with the JSON of the
 * same command, and {@link HostQuery} puts the answers together. No host keeps anything about
 * another, and what a host sends is untrusted: it is bounded and quoted.
 */
package jnvdocker.command.hosts;
