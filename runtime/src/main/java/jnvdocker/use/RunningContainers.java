package jnvdocker.use;

import java.io.IOException;
import java.time.Duration;
import java.util.List;

/** An engine's containers that run. */
public interface RunningContainers {
    /**
     * All of them. One that the engine cannot inspect in that time, as while it is being started or
     * stopped, is left out.
     *
     * @throws IOException when the engine does not answer in that time
     */
    List<RunningContainer> running(Duration limit) throws IOException;

    /** Whether there may be such an engine on this host at all. */
    default boolean isThere() {
        return true;
    }

    /** The containers of the last answer that still run. Queries no engine. */
    List<RunningContainer> lastKnown();
}
