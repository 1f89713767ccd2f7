package jnvdocker.volume.plugin;

import jnvdocker.posix.ProcessId;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * One kind of volume that docker mounts for us. The methods are the protocol's verbs. dockerd waits
 * for each while it holds a container's lock, so none may wait for the engine.
 */
public interface PluginVolumes {

    /** Whether the name is of this kind; the other methods are never called with another kind's. */
    boolean owns(String name);

    /** Makes the volume ready to be mounted. Once more is no error. */
    void create(String name, Map<String, String> options) throws RefusedException, IOException;

    /** Forgets the volume. */
    void remove(String name) throws RefusedException, IOException;

    /**
     * Gives the directory for one use of the volume.
     *
     * @param id names the use; docker gives it back to {@link #unmount}
     * @param caller the engine, as the kernel knows it
     */
    Path mount(String name, String id, ProcessId caller) throws RefusedException, IOException;

    /** Ends one use of the volume. */
    void unmount(String name, String id) throws RefusedException, IOException;

    /** The volume's facts that are known at once. */
    VolumeInfo get(String name) throws RefusedException, IOException;

    /** All volumes of this kind, in order of their names, at once. */
    List<VolumeInfo> list();
}
