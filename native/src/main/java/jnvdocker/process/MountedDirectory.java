package jnvdocker.process;

/**
 * A directory as mountinfo spells the root of a mount, wherever it is mounted.
 *
 * @param device the file system's, {@code major:minor}
 * @param path within the file system, also when it has been deleted there
 */
public record MountedDirectory(String device, String path) {
    /** Whether it is a directory below this one, at any depth. */
    public boolean holds(MountedDirectory other) {
        String directory = path.endsWith("/") ? path : path + "/";
        return device.equals(other.device) && other.path.startsWith(directory);
    }

    /** Returns a directory below it. */
    public MountedDirectory resolve(String name) {
        return new MountedDirectory(device, path.endsWith("/") ? path + name : path + "/" + name);
    }
}
