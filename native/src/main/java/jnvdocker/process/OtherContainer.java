package jnvdocker.process;

import java.util.Optional;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A container of an engine other than Docker, by the name of its cgroup, or by the program that
 * keeps it.
 *
 * @param title for people: {@code podman's container 0d1f0d1f0d1f}
 * @param toStop the command that ends it
 */
public record OtherContainer(String title, String toStop) {
    private static final Pattern PODMAN = Pattern.compile("/libpod-([0-9a-f]{12})[0-9a-f]{52}");

    /** The user that podman's container belongs to, unless it is root. */
    private static final Pattern USER = Pattern.compile("/user-([0-9]{1,10})\\.slice/");

    // A user who owns a part of the hierarchy can give a cgroup any name below it, but not there.
    private static final Pattern LXC = Pattern.compile("(?m):/lxc\\.payload\\.([^/\n]+)");
    private static final Pattern NSPAWN =
            Pattern.compile("(?m):(?:/machine\\.slice)?/machine-([^/\n]+)\\.scope");

    /** The namespaces of containerd in which people and kubelets start containers. */
    private static final String NAMESPACE = "/(default|k8s\\.io)/([A-Za-z0-9][A-Za-z0-9._-]*)";

    private static final Pattern CONTAINERD = Pattern.compile("(?m):" + NAMESPACE);
    private static final Pattern CONTAINERDS_DIRECTORY =
            Pattern.compile("/sys/fs/cgroup(?:/devices)?" + NAMESPACE + "(?:/.*)?");

    private static final int SHORT_ID = 12;

    /** The programs of Apptainer and Singularity that wait for a container's own. */
    private static final Set<String> STARTERS = Set.of("starter", "starter-suid");

    private static final String INSTANCE = "appinit";

    /**
     * @param cgroups {@code /proc/<pid>/cgroup} of a process in it
     */
    static Optional<OtherContainer> in(String cgroups) {
        return name(PODMAN, cgroups)
                .map(id -> {
                    Matcher user = USER.matcher(cgroups);
                    String sudo = user.find() ? "sudo -u '#" + user.group(1) + "' " : "";
                    return new OtherContainer("podman's container " + id, sudo + podmanStop(id));
                })
                .or(() ->
                        containerd(CONTAINERD.matcher(cgroups).results().findFirst())
                                .map(it ->
                                        new OtherContainer(
                                                "containerd's container " + it.shortName(),
                                                it.toStop())))
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

    /**
     * Apptainer's containers mostly stay in the cgroup of their user's session.
     *
     * @param program the name of a program that has started a process, or one of its ancestors
     * @param uid its user
     * @param process in the container
     */
    static Optional<OtherContainer> startedBy(String program, int uid, int process) {
        if (STARTERS.contains(program)) {
            return Optional.of(new OtherContainer("apptainer's container", "kill " + process));
        }
        return program.equals(INSTANCE)
                ? Optional.of(
                        new OtherContainer(
                                "apptainer's instance",
                                (uid == 0 ? "" : "sudo -u '#" + uid + "' ")
                                        + "apptainer instance stop NAME (see apptainer instance"
                                        + " list)"))
                : Optional.empty();
    }

    /**
     * The command that ends a container of which the name is known.
     *
     * @param cgroup the directory of its cgroup
     */
    public static String toStop(Optional<String> cgroup, String name) {
        return cgroup.flatMap(it -> name(PODMAN, it))
                .map(_ -> podmanStop(name))
                .or(() -> cgroup.flatMap(OtherContainer::toStopContainerds))
                .orElse("docker stop " + name);
    }

    private static Optional<String> toStopContainerds(String cgroup) {
        return containerd(CONTAINERDS_DIRECTORY.matcher(cgroup).results().findFirst())
                .map(Containerds::toStop);
    }

    /** A container of containerd, as {@code ctr container ls} shows it. */
    private record Containerds(String namespace, String name) {
        String shortName() {
            return ProcDirectory.CONTAINER.matcher(name).matches()
                    ? name.substring(0, SHORT_ID)
                    : name;
        }

        /** Most programs ignore other signals when they are first processes. */
        String toStop() {
            return "ctr -n " + namespace + " task kill -s KILL " + name;
        }
    }

    private static Optional<Containerds> containerd(Optional<MatchResult> cgroup) {
        return cgroup.map(it -> new Containerds(it.group(1), it.group(2)));
    }

    private static String podmanStop(String name) {
        return "podman stop " + name;
    }

    private static Optional<String> name(Pattern cgroup, String cgroups) {
        Matcher found = cgroup.matcher(cgroups);
        return found.find() ? Optional.of(found.group(1)) : Optional.empty();
    }
}
