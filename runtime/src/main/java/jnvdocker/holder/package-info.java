/**
 * Finds out whether the holders of leases live, and which uses of GPUs have no lease. All that
 * differs between kinds of holders is in one {@link HolderKind} each; {@link Evidence} chooses the
 * kind of a lease, and a {@link HostView} is what one pass over many leases reads of the host. Only
 * what root alone can make counts: mounts of claims, cgroups and processes. {@link UnmanagedScan}
 * assigns each use of a GPU to a lease, or to none. A {@link Memory} is what is known of one lease
 * beside its row. Nothing here begins or ends a lease.
 */
package jnvdocker.holder;
