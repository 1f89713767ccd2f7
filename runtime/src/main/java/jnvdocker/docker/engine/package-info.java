/**
 * The Docker engine: the requests to it, and its reports on containers. Start at {@link
 * DockerEngine}; {@link EngineWatch} follows its events.
 */
package jnvdocker.docker.engine;
