/**
 * The pages of nvidia-docker 1.0's REST API, and those about leases. Start at {@link
 * jnvdocker.rest.RestPages}.
 */
package jnvdocker.rest;
