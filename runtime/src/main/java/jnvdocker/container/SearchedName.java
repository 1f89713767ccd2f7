package jnvdocker.container;

import jnvdocker.volume.files.Directory;

/**
 * A name under which programs search for a file of the driver, such as {@code libcuda.so.1}.
 *
 * @param directory of the driver volume, which has that name
 * @param inDirectories whether it is also searched for in the directories themselves, by compilers
 *     and shells, and not only by the dynamic loader
 */
public record SearchedName(Directory directory, String name, boolean inDirectories) {
    /** Its path in a container. */
    public String path() {
        return ContainerPlanner.DRIVER_DIRECTORY + "/" + directory + "/" + name;
    }
}
