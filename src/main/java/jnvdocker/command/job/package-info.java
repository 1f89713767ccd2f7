/**
 * A job is a waiting command in a unit of systemd: {@code gpu submit} writes a record and has
 * systemd run {@code jnvdocker … --gpu-wait} as its user. The queue and the leases know nothing of
 * jobs. Start at {@link jnvdocker.command.job.Jobs}.
 */
package jnvdocker.command.job;
