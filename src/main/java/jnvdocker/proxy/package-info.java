/**
 * Docker's API on a socket for users: passes everything to the engine, and adds the label with the
 * owner to containers that are created. It runs as a process of its own, so that a restart of the
 * daemon cuts no stream. Start at {@link ProxyServer}.
 */
package jnvdocker.proxy;
