/**
 * The texts about leases: the holder of a GPU, the reason of a refusal, the remedy. Start at {@link
 * LeaseText}.
 */
package jnvdocker.lease.text;
