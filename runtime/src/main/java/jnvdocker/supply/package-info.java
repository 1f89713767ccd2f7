/**
 * Knows which GPUs a user may have, apart from who has them: {@link Supply} combines the host's
 * GPUs, the configuration's limits, what the user has used ({@link AllowanceReader}) and the
 * bookings ({@link Bookings}) into the terms of one decision.
 */
package jnvdocker.supply;
