package jnvdocker.posix;

import com.sun.jna.LastErrorException;
import com.sun.jna.Memory;
import com.sun.jna.ptr.IntByReference;

import jnr.posix.Group;
import jnr.posix.POSIX;
import jnr.posix.POSIXFactory;
import jnr.posix.Passwd;

import java.io.IOException;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.Method;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;

/** System calls that Java lacks. */
public final class Posix {
    private static final POSIX JNR = POSIXFactory.getNativePOSIX();

    private static final int O_RDONLY = 0;
    private static final int O_WRONLY = 1;
    private static final int O_CREAT = 0x40;
    private static final int O_EXCL = 0x80;
    private static final int O_CLOEXEC = 0x80000;
    private static final int S_IFCHR = 0x2000;
    private static final int SOL_SOCKET = 1;
    private static final int SO_PEERCRED = 17;
    private static final long FICLONE = 0x40049409L;

    private Posix() {}

    /** The user we run as: 0 is root. */
    public static int effectiveUser() {
        return JNR.geteuid();
    }

    /** The number of a group, or empty where the host has none of that name. */
    public static OptionalInt group(String name) {
        Group group = JNR.getgrnam(name);
        return group == null ? OptionalInt.empty() : OptionalInt.of((int) group.getGID());
    }

    /** The number of a user, or empty where the host has none of that name. */
    public static OptionalInt user(String name) {
        // libc answers in a place that the next question overwrites.
        synchronized (JNR) {
            Passwd user = JNR.getpwnam(name);
            return user == null ? OptionalInt.empty() : OptionalInt.of((int) user.getUID());
        }
    }

    /** The name of a user, or empty where the host has none of that number. */
    public static Optional<String> userName(int uid) {
        // libc answers in a place that the next question overwrites.
        synchronized (JNR) {
            return Optional.ofNullable(JNR.getpwuid(uid)).map(Passwd::getLoginName);
        }
    }

    /** Sets the owner and group of a file; -1 leaves one as it is. */
    public static void chown(Path file, int uid, int gid) throws PosixException {
        if (JNR.chown(file.toString(), uid, gid) != 0) {
            throw failure("chown " + file, JNR.errno());
        }
    }

    /** Sets the permission bits of a file, such as 0660. */
    public static void chmod(Path file, int mode) throws PosixException {
        if (JNR.chmod(file.toString(), mode) != 0) {
            throw failure("chmod " + file, JNR.errno());
        }
    }

    /**
     * Makes a character device node. The mode is subject to the umask.
     *
     * @throws PosixException with {@link Errno#EEXIST} when the name is taken
     */
    public static void mknod(Path file, int mode, int major, int minor) throws PosixException {
        try {
            LibC.INSTANCE.mknod(file.toString(), S_IFCHR | mode, device(major, minor));
        } catch (LastErrorException e) {
            throw failure("mknod " + file, e.getErrorCode());
        }
    }

    /**
     * Makes a new file that shares another's blocks (a reflink), which few file systems can. On
     * failure no new file is left.
     *
     * @param mode the permission bits of the new file, subject to the umask
     * @throws PosixException with {@link Errno#EOPNOTSUPP}, {@link Errno#EXDEV}, {@link
     *     Errno#EINVAL} or {@link Errno#ENOTTY} when these file systems can't
     */
    public static void reflink(Path from, Path to, int mode) throws IOException {
        int source = open(from, O_RDONLY, 0);
        try {
            int target = open(to, O_WRONLY | O_CREAT | O_EXCL, mode);
            try {
                LibC.INSTANCE.ioctl(target, FICLONE, source);
            } catch (LastErrorException e) {
                Files.delete(to);
                throw failure("reflink " + from + " to " + to, e.getErrorCode());
            } finally {
                LibC.INSTANCE.close(target);
            }
        } finally {
            LibC.INSTANCE.close(source);
        }
    }

    /** Who is at the other end of a Unix socket. Java's own principal has no process id. */
    public static Peer peer(SocketChannel socket) throws IOException {
        try (Memory ucred = new Memory(12)) {
            IntByReference length = new IntByReference(12);
            LibC.INSTANCE.getsockopt(descriptor(socket), SOL_SOCKET, SO_PEERCRED, ucred, length);
            return new Peer(ucred.getInt(0), ucred.getInt(4), ucred.getInt(8));
        } catch (LastErrorException e) {
            throw failure("getsockopt SO_PEERCRED", e.getErrorCode());
        }
    }

    /** The number that stands for a device in {@code stat}, as glibc's makedev packs it. */
    public static long device(int major, int minor) {
        return (minor & 0xffL)
                | ((major & 0xfffL) << 8)
                | ((minor & 0xfff00L) << 12)
                | ((major & 0xfffff000L) << 32);
    }

    /** The major of such a number. */
    public static int major(long device) {
        return (int) (((device >>> 8) & 0xfffL) | ((device >>> 32) & 0xfffff000L));
    }

    /** The minor of such a number. */
    public static int minor(long device) {
        return (int) ((device & 0xffL) | ((device >>> 12) & 0xfff00L));
    }

    static PosixException failure(String what, int errno) {
        return new PosixException(what, errno, JNR.strerror(errno));
    }

    /** Java hides it: needs {@code --add-opens java.base/sun.nio.ch=ALL-UNNAMED}. */
    private static int descriptor(SocketChannel socket) throws IOException {
        try {
            Method method = socket.getClass().getMethod("getFDVal");
            method.setAccessible(true);
            return (int) method.invoke(socket);
        } catch (ReflectiveOperationException | InaccessibleObjectException e) {
            throw new IOException("no descriptor behind a socket: " + e.getMessage(), e);
        }
    }

    private static int open(Path file, int flags, int mode) throws PosixException {
        try {
            return LibC.INSTANCE.open(file.toString(), flags | O_CLOEXEC, mode);
        } catch (LastErrorException e) {
            throw failure("open " + file, e.getErrorCode());
        }
    }
}
