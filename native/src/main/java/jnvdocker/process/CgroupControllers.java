package jnvdocker.process;

import java.io.IOException;
import java.util.Optional;

/** The controllers of cgroups of version 1 that are mounted here, each with a hierarchy. */
public final class CgroupControllers {
    private final MountTable mounts;

    CgroupControllers(MountTable mounts) {
        this.mounts = mounts;
    }

    /** Returns the controllers of this machine. */
    public static CgroupControllers mounted() throws IOException {
        return new CgroupControllers(MountTable.ofThisProcess());
    }

    /**
     * Returns the directory of the same path in another controller's hierarchy.
     *
     * @param directory below {@code /sys/fs/cgroup}, of the first controller
     * @return empty when either controller has no hierarchy, or the directory is the root of its
     *     own
     */
    public Optional<String> counterpart(String directory, String of, String controller) {
        Optional<String> path = CgroupHierarchy.of(of, mounts).flatMap(it -> it.path(directory));
        return CgroupHierarchy.of(controller, mounts)
                .map(hierarchy -> hierarchy.mount().point())
                .flatMap(point -> path.map(point::concat));
    }
}
