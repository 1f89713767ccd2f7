/**
 * The few changes in a container's root file system that make programs find the driver without
 * variables. The root is hostile: nothing of it is executed, no link in it is followed, and its
 * texts are bounded. Which names there are is decided in {@link jnvdocker.container}. Start at
 * {@link DriverNames}.
 */
package jnvdocker.oci.root;
