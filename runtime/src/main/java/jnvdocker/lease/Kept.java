package jnvdocker.lease;

/** A reason why a GPU that nobody holds is kept from others. */
public sealed interface Kept permits Ticket, AfterStop {}
