package jnvdocker.kubernetes;

import java.util.OptionalInt;

/**
 * A GPU, or an instance of one, as a kubelet knows it.
 *
 * @param id its UUID
 * @param healthy whether a pod may have it, or has it
 * @param numaNode that it is attached to; empty when the host does not report it
 */
public record Device(String id, boolean healthy, OptionalInt numaNode) {}
