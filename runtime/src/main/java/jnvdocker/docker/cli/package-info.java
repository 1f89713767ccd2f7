/** Docker's command line, as its own client reads it. Start at {@link DockerCommandLine}. */
package jnvdocker.docker.cli;
