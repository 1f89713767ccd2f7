/**
 * How a Mesos agent is set up to query our daemon before it starts a container: its flags, its
 * launcher's directory, which GPUs its tasks get, and the check of running agents. Start at {@link
 * LauncherDirectory}.
 */
package jnvdocker.mesos.agent;
