package jnvdocker.doctor;

/**
 * A unit of another's that is to start after the daemon.
 *
 * @param name of systemd's: {@code kubelet.service}
 * @param otherwise what happens if it does not
 */
public record LaterUnit(String name, String otherwise) {}
