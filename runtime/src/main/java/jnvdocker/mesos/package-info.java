/**
 * What a Mesos agent says of the containers that it starts, and what is added to them on their way
 * to the agent's own helper.
 */
package jnvdocker.mesos;
