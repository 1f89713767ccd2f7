/**
 * Shows the past: leases, hours, refusals, and the limits that they count against. Start at {@link
 * GpuHistory}.
 */
package jnvdocker.command.gpu.history;
