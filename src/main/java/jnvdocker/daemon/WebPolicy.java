package jnvdocker.daemon;

import jnvdocker.web.ListenAddress;

import java.util.Optional;

/**
 * The policy for questions over HTTP.
 *
 * @param listen the address for those who ask over TCP; empty if nobody may
 * @param labels whether they are told users, containers, images and claims
 */
record WebPolicy(Optional<ListenAddress> listen, boolean labels) {}
