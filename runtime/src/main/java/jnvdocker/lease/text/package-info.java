/**
 * What people are told of leases: who has a GPU, why somebody gets none, what to do. Start at
 * {@link LeaseText}.
 */
package jnvdocker.lease.text;
