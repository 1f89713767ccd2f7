/**
 * What is added to a container, and which GPUs it is given. Knows no engine and no command line.
 */
package jnvdocker.container;
