package jnvdocker.lease;

/** A reason why a GPU that nobody holds is kept from others. */
public sealed interface Kept permits Ticket, AfterStop, Booking {
    /** The user for whom it is kept. */
    Owner owner();
}
