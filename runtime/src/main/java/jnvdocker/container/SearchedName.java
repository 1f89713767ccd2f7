package jnvdocker.container;

import jnvdocker.volume.files.Folder;

/**
 * A name under which programs search for a file of the driver, such as {@code libcuda.so.1}.
 *
 * @param folder of the driver volume, which has that name
 * @param inFolders whether it is also searched for in the directories themselves, by compilers and
 *     shells, and not only by the dynamic loader
 */
public record SearchedName(Folder folder, String name, boolean inFolders) {
    /** Its path in a container. */
    public String path() {
        return ContainerPlanner.DRIVER_FOLDER + "/" + folder + "/" + name;
    }
}
