/**
 * What a Mesos agent says of the containers that it starts, what is added to them on their way to
 * the agent's own helper, and how an agent is set up for that.
 */
package jnvdocker.mesos;
