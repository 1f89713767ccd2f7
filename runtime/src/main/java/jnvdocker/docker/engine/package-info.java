/**
 * The Docker engine: what is asked of it, and what it tells of its containers. Start at {@link
 * DockerEngine}; {@link EngineWatch} follows its events.
 */
package jnvdocker.docker.engine;
