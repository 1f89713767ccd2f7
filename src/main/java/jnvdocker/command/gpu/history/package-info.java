/**
 * Shows what has been: leases, hours, refusals, and the limits that they count against. Start at
 * {@link GpuHistory}.
 */
package jnvdocker.command.gpu.history;
