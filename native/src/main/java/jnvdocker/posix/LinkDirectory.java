package jnvdocker.posix;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/**
 * Iterates over the numbered symbolic links of a directory such as {@code /proc/<pid>/fd}. There
 * may be hundreds of thousands: a path or text is made of a link only on request.
 */
@SuppressWarnings("restricted")
public final class LinkDirectory implements AutoCloseable {
    private static final int ENTRIES = 1 << 15;
    private static final int LONGEST_TARGET = 4096;

    /** The offsets of the entry's length and of the name in {@code struct linux_dirent64}. */
    private static final int LENGTH_AT = 16;

    private static final int NAME_AT = 19;

    private static final ValueLayout.OfShort LENGTH = ValueLayout.JAVA_SHORT_UNALIGNED;
    private static final Linker.Option ERRNO = Linker.Option.captureCallState("errno");
    private static final VarHandle ERRNO_VALUE =
            Linker.Option.captureStateLayout()
                    .varHandle(MemoryLayout.PathElement.groupElement("errno"));

    private static final MethodHandle GETDENTS =
            function(
                    "getdents64",
                    FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG),
                    ERRNO);
    private static final MethodHandle READLINKAT =
            function(
                    "readlinkat",
                    FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG));

    private final Path directory;
    private final Arena arena;
    private final MemorySegment errno;
    private final MemorySegment entries;
    private final MemorySegment target;
    private final int descriptor;
    private long next;
    private long end;
    private long name;

    private LinkDirectory(Path directory, Arena arena) throws PosixException {
        this.directory = directory;
        this.arena = arena;
        descriptor = Posix.openToRead(directory);
        errno = arena.allocate(Linker.Option.captureStateLayout());
        entries = arena.allocate(ENTRIES, Long.BYTES);
        target = arena.allocate(LONGEST_TARGET);
    }

    /**
     * @throws PosixException with {@link Errno#ENOENT} or {@link Errno#ESRCH} when the directory
     *     has gone, and {@link Errno#EACCES} when we may not read it
     */
    public static LinkDirectory open(Path directory) throws PosixException {
        @SuppressWarnings("MustBeClosedChecker") // Closed with the directory.
        Arena arena = Arena.ofConfined();
        try {
            return new LinkDirectory(directory, arena);
        } catch (PosixException | RuntimeException | Error e) {
            arena.close();
            throw e;
        }
    }

    /**
     * Moves to the next link; entries with a name that does not begin with a digit are skipped.
     *
     * @return false when there is no more
     */
    public boolean next() throws PosixException {
        do {
            if (next >= end && !fill()) {
                return false;
            }
            name = next + NAME_AT;
            next += Short.toUnsignedInt(entries.get(LENGTH, next + LENGTH_AT));
        } while (!isDigit(entries.get(JAVA_BYTE, name)));
        return true;
    }

    private boolean fill() throws PosixException {
        end = list(errno, descriptor, entries);
        next = 0;
        if (end < 0) {
            throw Posix.failure("read " + directory, (int) ERRNO_VALUE.get(errno, 0L));
        }
        return end > 0;
    }

    private static boolean isDigit(byte character) {
        return character >= '0' && character <= '9';
    }

    /** Returns the name of the link. */
    public String name() {
        return entries.getString(name);
    }

    /**
     * Returns the target of the link if it is a path; empty for anything else, such as {@code
     * socket:[4711]}, and when the link has just gone.
     */
    public String path() {
        long length = read(descriptor, entries.asSlice(name), target);
        if (length <= 0 || target.get(JAVA_BYTE, 0) != '/') {
            return "";
        }
        byte[] bytes = target.asSlice(0, length).toArray(JAVA_BYTE);
        return new String(bytes, StandardCharsets.ISO_8859_1);
    }

    @Override
    public void close() {
        Posix.close(descriptor);
        arena.close();
    }

    private static MethodHandle function(
            String name, FunctionDescriptor type, Linker.Option... options) {
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), type, options);
    }

    private static long list(MemorySegment errno, int descriptor, MemorySegment into) {
        try {
            return (long) GETDENTS.invokeExact(errno, descriptor, into, into.byteSize());
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    private static long read(int descriptor, MemorySegment name, MemorySegment into) {
        try {
            return (long) READLINKAT.invokeExact(descriptor, name, into, into.byteSize());
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** These functions throw nothing. */
    private static RuntimeException unexpected(Throwable e) {
        if (e instanceof Error error) {
            throw error;
        }
        return new IllegalStateException(e);
    }
}
