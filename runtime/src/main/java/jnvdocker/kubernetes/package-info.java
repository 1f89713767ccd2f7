/**
 * Pods of Kubernetes: what a device plugin tells a kubelet, and what it answers. Decides, and
 * speaks no protocol.
 */
package jnvdocker.kubernetes;
