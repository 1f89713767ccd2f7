/**
 * The additions to a container: device nodes, mounts, variables, labels. Knows no engine and no
 * command line. Start at {@link ContainerPlanner}.
 */
package jnvdocker.container;
