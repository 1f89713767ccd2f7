package jnvdocker.daemon;

import jnvdocker.web.ListenAddress;

import java.util.Optional;

/**
 * The policy for questions over HTTP.
 *
 * @param listen the address for questions over TCP; empty if there is none
 * @param labels whether answers over TCP show users, containers, images and claims
 */
record WebPolicy(Optional<ListenAddress> listen, boolean labels) {}
