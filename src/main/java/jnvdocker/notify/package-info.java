/**
 * Runs an administrator's programs when something happens to GPUs: a lease begins or is overdue, a
 * GPU is sick. Start at {@link jnvdocker.notify.Notifier}. It decides nothing about leases.
 */
package jnvdocker.notify;
