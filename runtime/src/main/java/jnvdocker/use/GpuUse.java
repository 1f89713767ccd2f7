package jnvdocker.use;

import jnvdocker.host.Gpu;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.OtherContainer;

import java.util.Optional;

/**
 * A GPU in use, whether this daemon assigned it or not. There is a container, a process, or both.
 *
 * @param kind by what it is known
 */
public record GpuUse(
        Gpu gpu, Kind kind, Optional<RunningContainer> container, Optional<User> process) {

    /** The evidence of a use. */
    public enum Kind {
        /** A container was given its node, with {@code --device} or a mount. */
        NODE("--device"),
        /** A request to the engine: {@code docker run --gpus}. */
        REQUEST("--gpus"),
        /** A CDI device, requested from the engine. */
        CDI("a CDI device"),
        /** NVIDIA's runtime gives it to a container. */
        RUNTIME("NVIDIA's runtime"),
        /** A process has a claim of ours mounted. */
        CLAIM("a claim"),
        /** A process has its node open. */
        OPEN("an open node"),
        /**
         * A process has the whole GPU's node open, and none that says which MIG instance it uses.
         */
        OPEN_WHOLE("an open node of the whole GPU"),
        /** A process in a container has its graphics node open, by which programs compute, too. */
        OPEN_GRAPHICS("an open graphics node"),
        /** The open files of a process are not known yet, and it may open the node. */
        UNKNOWN("files that were not read yet");

        private final String words;

        Kind(String words) {
            this.words = words;
        }

        /** Whether a process has opened the GPU. */
        public boolean isOpen() {
            return this == OPEN || this == OPEN_WHOLE || this == OPEN_GRAPHICS;
        }

        /** Its name in messages. */
        public String words() {
            return words;
        }
    }

    /**
     * A process that has the GPU's node open, or is by another kind known to use it.
     *
     * @param name which it may have given itself
     * @param other the container of another engine than Docker that it is in
     */
    public record User(
            ProcessId id,
            String name,
            int uid,
            Optional<String> containerId,
            Optional<OtherContainer> other) {

        /** Whether the process is in a container of any engine. */
        boolean isInContainer() {
            return containerId.isPresent() || other.isPresent();
        }

        /** A process that is in no container of another engine. */
        public User(ProcessId id, String name, int uid, Optional<String> containerId) {
            this(id, name, uid, containerId, Optional.empty());
        }
    }
}
