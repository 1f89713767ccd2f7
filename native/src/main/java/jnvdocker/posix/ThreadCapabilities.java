package jnvdocker.posix;

import com.sun.jna.LastErrorException;
import com.sun.jna.Memory;

/** The capabilities of the calling thread: each thread has its own, see capabilities(7). */
public final class ThreadCapabilities {
    private static final int VERSION_3 = 0x20080522;
    private static final int CAP_MKNOD = 27;

    // struct __user_cap_header_struct: the version, and the thread's id, 0 for the calling one.
    private static final int HEADER_SIZE = 8;

    // Two struct __user_cap_data_struct of three ints each; the effective set's low half is first.
    private static final int DATA_SIZE = 24;

    private ThreadCapabilities() {}

    /** Something that may fail in its own way. */
    @FunctionalInterface
    public interface Work<E extends Exception> {
        void run() throws E;
    }

    /** Runs an action during which this thread cannot make device nodes, not even as root. */
    public static <E extends Exception> void withoutMknod(Work<E> work) throws PosixException, E {
        try (Memory header = new Memory(HEADER_SIZE);
                Memory data = new Memory(DATA_SIZE)) {
            get(header, data);
            int effective = data.getInt(0);
            data.setInt(0, effective & ~(1 << CAP_MKNOD));
            set(header, data);
            try {
                work.run();
            } finally {
                data.setInt(0, effective);
                set(header, data);
            }
        }
    }

    /** Whether this thread has the capability to make device nodes. */
    public static boolean mayMknod() throws PosixException {
        try (Memory header = new Memory(HEADER_SIZE);
                Memory data = new Memory(DATA_SIZE)) {
            get(header, data);
            return (data.getInt(0) & 1 << CAP_MKNOD) != 0;
        }
    }

    private static void get(Memory header, Memory data) throws PosixException {
        header.clear();
        header.setInt(0, VERSION_3);
        try {
            LibC.INSTANCE.capget(header, data);
        } catch (LastErrorException e) {
            throw Posix.failure("capget", e.getErrorCode());
        }
    }

    private static void set(Memory header, Memory data) throws PosixException {
        try {
            LibC.INSTANCE.capset(header, data);
        } catch (LastErrorException e) {
            throw Posix.failure("capset", e.getErrorCode());
        }
    }
}
