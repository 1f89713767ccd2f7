package jnvdocker.process;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A container of an engine other than Docker, by the name of its cgroup.
 *
 * @param title for people: {@code podman's container 0d1f0d1f0d1f}
 * @param toStop the command that ends it
 */
public record OtherContainer(String title, String toStop) {
    private static final Pattern PODMAN = Pattern.compile("/libpod-([0-9a-f]{12})[0-9a-f]{52}");

    /** Whose podman it is, unless root's. */
    private static final Pattern USER = Pattern.compile("/user-([0-9]{1,10})\\.slice/");

    // A user who owns a part of the hierarchy can give a cgroup any name below it, but not there.
    private static final Pattern LXC = Pattern.compile("(?m):/lxc\\.payload\\.([^/\n]+)");
    private static final Pattern NSPAWN =
            Pattern.compile("(?m):(?:/machine\\.slice)?/machine-([^/\n]+)\\.scope");

    /**
     * @param cgroups {@code /proc/<pid>/cgroup} of a process in it
     */
    static Optional<OtherContainer> in(String cgroups) {
        return ofPodman(cgroups)
                .map(id -> {
                    Matcher user = USER.matcher(cgroups);
                    String sudo = user.find() ? "sudo -u '#" + user.group(1) + "' " : "";
                    return new OtherContainer("podman's container " + id, sudo + podmanStop(id));
                })
                .or(() ->
                        name(LXC, cgroups)
                                .map(it -> new OtherContainer("LXC's " + it, "lxc-stop " + it)))
                .or(() ->
                        name(NSPAWN, cgroups)
                                .map(it -> it.replace("\\x2d", "-"))
                                .map(it ->
                                        new OtherContainer(
                                                "systemd's machine " + it,
                                                "machinectl stop " + it)));
    }

    /** Returns the id of podman's container, by the path of its cgroup. */
    public static Optional<String> ofPodman(String cgroup) {
        return name(PODMAN, cgroup);
    }

    /** The command that ends a container of podman's. */
    public static String podmanStop(String name) {
        return "podman stop " + name;
    }

    private static Optional<String> name(Pattern cgroup, String cgroups) {
        Matcher found = cgroup.matcher(cgroups);
        return found.find() ? Optional.of(found.group(1)) : Optional.empty();
    }
}
