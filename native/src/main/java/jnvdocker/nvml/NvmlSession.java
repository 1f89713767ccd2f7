package jnvdocker.nvml;

import java.nio.file.Path;

/** A session, which ends when no call of it is in progress. */
final class NvmlSession {
    final Path file;
    final Nvml nvml;
    final Interconnect interconnect = new Interconnect();
    private int users;
    private boolean ended;

    /** Whether the driver has said that it is of no use any more. */
    volatile boolean over;

    NvmlSession(Path file, Nvml nvml) {
        this.file = file;
        this.nvml = nvml;
    }

    synchronized boolean enter() {
        if (ended) {
            return false;
        }
        users++;
        return true;
    }

    synchronized void leave() {
        users--;
        closeIfUnused();
    }

    synchronized void end() {
        ended = true;
        closeIfUnused();
    }

    /** A session with a call that does not return stays open. */
    private void closeIfUnused() {
        if (ended && users == 0) {
            nvml.close();
        }
    }
}
