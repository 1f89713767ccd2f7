package jnvdocker.lease;

import jnvdocker.container.GpuRequest;
import jnvdocker.process.ProcessId;

import java.time.Instant;

/**
 * A place in the line of those who wait for GPUs.
 *
 * @param id its number: lower ones came before
 * @param client whose place it is, for as long as this process lives
 */
public record Ticket(long id, ProcessId client, Owner owner, GpuRequest request, Instant since) {}
