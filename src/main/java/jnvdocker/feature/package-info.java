/**
 * The ways to GPUs that can be left out: what each tells the daemon of itself, and what it uses of
 * the daemon. Start at {@link Feature}.
 *
 * <p>A feature is a directory beside this one ({@code jnvdocker.mesos}) with all that it has: its
 * kind of holder, its table of the configuration, its commands, its check of {@code gpu doctor}. To
 * leave one out, delete its directory and its line in {@code jnvdocker.daemon.Features}. What the
 * core must know of a kind of holder, to store and show its leases, is its record in {@code
 * Origin}.
 */
package jnvdocker.feature;
