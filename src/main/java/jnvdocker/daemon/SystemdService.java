package jnvdocker.daemon;

/** Whether systemd runs the daemon, with the unit from our tree. */
final class SystemdService {
    private static final String UNIT = "/jnvdocker.service";

    private SystemdService() {}

    /**
     * @param cgroups {@code /proc/self/cgroup}, see cgroups(7): systemd names a service's cgroup
     *     after its unit
     */
    static boolean isOurs(String cgroups) {
        return cgroups.lines().anyMatch(line -> line.endsWith(UNIT));
    }
}
