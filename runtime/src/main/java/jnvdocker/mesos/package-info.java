/** What Mesos agents and their tasks are given, and told: decisions, without any I/O. */
package jnvdocker.mesos;
