package jnvdocker.posix;

import jnr.constants.platform.Errno;
import jnr.ffi.LastError;
import jnr.ffi.Runtime;
import jnr.posix.POSIX;
import jnr.posix.POSIXFactory;
import jnr.posix.POSIXHandler;

import java.io.File;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.util.function.Supplier;

/** The calls that jnr-posix makes; {@link LibC} has those that it lacks. */
final class PosixCalls {
    static final POSIX INSTANCE = load();

    private PosixCalls() {}

    /** Uses libc or fails: jnr-posix would make up some answers in Java otherwise. */
    private static POSIX load() {
        POSIX posix = POSIXFactory.getNativePOSIX(new Silent());
        // Loads what reads errno, so that nothing has to be loaded between a call and its errno.
        posix.errno(0);
        return posix;
    }

    /**
     * Returns the result of a call that has just been made by this thread. Its errno is the
     * thread's own, kept until the next call; the description is made after it was read.
     *
     * @throws PosixException when the result is negative
     */
    static int check(int result, Supplier<String> what) throws PosixException {
        if (result < 0) {
            int errno = INSTANCE.errno();
            throw Posix.failure(what.get(), errno);
        }
        return result;
    }

    /** Leaves errors to the callers, which find them in results: nothing is printed or thrown. */
    private static final class Silent implements POSIXHandler {
        @Override
        public void error(Errno error, String text) {
            // The result says so.
        }

        @Override
        public void error(Errno error, String method, String text) {
            // The result says so.
        }

        /** The call returns -1 next: its errno says why. */
        @Override
        public void unimplementedError(String method) {
            LastError.setLastError(Runtime.getSystemRuntime(), jnvdocker.posix.Errno.ENOSYS);
        }

        @Override
        public void warn(WARNING_ID id, String message, Object... data) {
            // None concerns a call of ours.
        }

        @Override
        public boolean isVerbose() {
            return false;
        }

        // What follows is for the starter of processes and the calls in Java, which we do not use.

        @Override
        public File getCurrentWorkingDirectory() {
            return new File("/");
        }

        @Override
        public String[] getEnv() {
            return new String[0];
        }

        @Override
        public InputStream getInputStream() {
            return InputStream.nullInputStream();
        }

        @Override
        public PrintStream getOutputStream() {
            return new PrintStream(OutputStream.nullOutputStream());
        }

        @Override
        public int getPID() {
            return (int) ProcessHandle.current().pid();
        }

        @Override
        public PrintStream getErrorStream() {
            return getOutputStream();
        }
    }
}
