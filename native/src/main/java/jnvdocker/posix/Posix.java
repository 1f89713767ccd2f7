package jnvdocker.posix;

import com.sun.jna.LastErrorException;
import com.sun.jna.Memory;
import com.sun.jna.ptr.IntByReference;

import java.io.IOException;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;

/** System calls that Java lacks. */
public final class Posix {
    private static final int ACCESS_LIST = 4096;
    private static final int O_RDONLY = 0;
    private static final int O_WRONLY = 1;
    private static final int O_CREAT = 0x40;
    private static final int O_EXCL = 0x80;
    private static final int O_NONBLOCK = 0x800;
    private static final int O_NOFOLLOW = 0x20000;
    private static final int O_CLOEXEC = 0x80000;
    private static final int LOCK_EX = 2;
    private static final int LOCK_NB = 4;
    private static final int CLOCK_BOOTTIME = 7;
    private static final int SOL_SOCKET = 1;
    private static final int SO_PEERCRED = 17;
    private static final int SO_PEERPIDFD = 77;
    private static final long FICLONE = 0x40049409L;
    private static final long MS_RDONLY = 1;
    private static final int MNT_DETACH = 2;
    private static final int UMOUNT_NOFOLLOW = 8;
    private static final long NS_GET_USERNS = 0xb701;
    private static final long NS_GET_OWNER_UID = 0xb704;

    private Posix() {}

    /**
     * Returns the time since this boot, including the time that the host has slept; nobody can set
     * it.
     */
    public static Duration timeSinceBoot() {
        try (Memory time = new Memory(2L * Long.BYTES)) {
            LibC.INSTANCE.clock_gettime(CLOCK_BOOTTIME, time);
            return Duration.ofSeconds(time.getLong(0), time.getLong(Long.BYTES));
        }
    }

    /** Runs this at each SIGHUP, in a thread of Java's; SIGHUP ends Java otherwise. */
    public static void onHangUp(Runnable task) {
        // By reflection, since javac warns of each mention of these classes and no option prevents
        // it.
        try {
            Class<?> signal = Class.forName("sun.misc.Signal");
            Class<?> handler = Class.forName("sun.misc.SignalHandler");
            Object ours =
                    Proxy.newProxyInstance(
                            Posix.class.getClassLoader(),
                            new Class<?>[] {handler},
                            (_, _, _) -> {
                                task.run();
                                return null;
                            });
            signal.getMethod("handle", signal, handler)
                    .invoke(null, signal.getConstructor(String.class).newInstance("HUP"), ours);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("this Java has no sun.misc.Signal", e);
        }
    }

    /** Returns the user that we run as: 0 is root. */
    public static int effectiveUser() {
        return PosixCalls.INSTANCE.geteuid();
    }

    /** Whether a user is root, or the one that we run as, which is the same wherever it matters. */
    public static boolean isRootOrSelf(int user) {
        return user == 0 || user == effectiveUser();
    }

    /** Sets the owner and group of a file; -1 leaves one as it is. */
    public static void chown(Path file, int uid, int gid) throws PosixException {
        PosixCalls.check(
                PosixCalls.INSTANCE.chown(file.toString(), uid, gid), () -> "chown " + file);
    }

    /**
     * Returns the access list that a file has besides its permission bits (acl(5)), as the kernel
     * keeps it (linux/posix_acl_xattr.h); empty if it has none.
     */
    public static byte[] accessList(Path file) throws PosixException {
        try {
            return attribute(file, "system.posix_acl_access", ACCESS_LIST);
        } catch (PosixException e) {
            if (e.errno() == Errno.ENODATA || e.errno() == Errno.EOPNOTSUPP) {
                return new byte[0];
            }
            throw e;
        }
    }

    /** Sets the permission bits of a file, such as 0660. */
    public static void chmod(Path file, int mode) throws PosixException {
        PosixCalls.check(PosixCalls.INSTANCE.chmod(file.toString(), mode), () -> "chmod " + file);
    }

    /**
     * Makes a character device node. The mode is subject to the umask.
     *
     * @throws PosixException with {@link Errno#EEXIST} when the name is taken
     */
    public static void mknod(Path file, int mode, int major, int minor) throws PosixException {
        try {
            LibC.INSTANCE.mknod(file.toString(), FileStatus.S_IFCHR | mode, device(major, minor));
        } catch (LastErrorException e) {
            throw failure("mknod " + file, e.getErrorCode());
        }
    }

    /**
     * Makes a new file that shares another's blocks (a reflink), which few file systems support. On
     * failure no new file is left.
     *
     * @param mode the permission bits of the new file, subject to the umask
     * @throws PosixException with {@link Errno#EOPNOTSUPP}, {@link Errno#EXDEV}, {@link
     *     Errno#EINVAL} or {@link Errno#ENOTTY} when these file systems do not support it
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
                close(target);
            }
        } finally {
            close(source);
        }
    }

    /**
     * Mounts a file system read-only.
     *
     * @param source its source, as mountinfo shows it
     * @param type as in {@code /proc/filesystems}
     * @param options the file system's own, separated by commas
     */
    public static void mountReadOnly(String source, Path directory, String type, String options)
            throws PosixException {
        try {
            LibC.INSTANCE.mount(source, directory.toString(), type, MS_RDONLY, options);
        } catch (LastErrorException e) {
            throw failure("mount " + type + " at " + directory, e.getErrorCode());
        }
    }

    /**
     * Detaches the mount at a directory. Files that are open in it, and mounts of it elsewhere,
     * stay usable.
     *
     * @throws PosixException with {@link Errno#EINVAL} when nothing is mounted there
     */
    public static void unmount(Path directory) throws PosixException {
        try {
            LibC.INSTANCE.umount2(directory.toString(), MNT_DETACH | UMOUNT_NOFOLLOW);
        } catch (LastErrorException e) {
            throw failure("unmount " + directory, e.getErrorCode());
        }
    }

    /**
     * Returns the process at the other end of a Unix socket. Java's own principal has no process
     * id.
     */
    public static Peer peer(SocketChannel socket) throws IOException {
        try (Memory ucred = new Memory(12)) {
            IntByReference length = new IntByReference(12);
            LibC.INSTANCE.getsockopt(descriptor(socket), SOL_SOCKET, SO_PEERCRED, ucred, length);
            return new Peer(ucred.getInt(0), ucred.getInt(4));
        } catch (LastErrorException e) {
            throw failure("getsockopt SO_PEERCRED", e.getErrorCode());
        }
    }

    /**
     * Returns the pid of the process at the other end of a Unix socket, which is its own as long as
     * the process is not reaped: a later process of the same number is never meant.
     *
     * @return 0 when it has been reaped, or is in another PID namespace
     * @throws PosixException with {@link Errno#ENOPROTOOPT} where the kernel is older than 6.5
     */
    public static int livePeer(SocketChannel socket) throws IOException {
        IntByReference handle = new IntByReference();
        try (Memory value = new Memory(Integer.BYTES)) {
            LibC.INSTANCE.getsockopt(
                    descriptor(socket),
                    SOL_SOCKET,
                    SO_PEERPIDFD,
                    value,
                    new IntByReference(Integer.BYTES));
            handle.setValue(value.getInt(0));
        } catch (LastErrorException e) {
            // Newer kernels return a handle of such a process, too.
            if (e.getErrorCode() == Errno.ESRCH) {
                return 0;
            }
            throw failure("getsockopt SO_PEERPIDFD", e.getErrorCode());
        }
        try {
            return Files.readAllLines(Path.of("/proc/self/fdinfo/" + handle.getValue())).stream()
                    .filter(line -> line.startsWith("Pid:"))
                    .mapToInt(line -> Integer.parseInt(line.substring("Pid:".length()).strip()))
                    .map(pid -> Math.max(pid, 0))
                    .findFirst()
                    .orElse(0);
        } finally {
            close(handle.getValue());
        }
    }

    /**
     * Returns the maker of the user namespace that a namespace belongs to: the rights to change the
     * namespace belong to the root of that user namespace alone (see ioctl_ns(2)). The initial user
     * namespace is root's. A namespace below a user's own is never root's, however deep: the result
     * is the user's uid as we see it.
     *
     * @param namespace such as {@code /proc/<pid>/ns/mnt}
     * @throws PosixException with {@link Errno#EPERM} when that is outside of our own
     */
    public static int namespaceOwner(Path namespace) throws PosixException {
        int descriptor = open(namespace, O_RDONLY, 0);
        try {
            int users = LibC.INSTANCE.ioctl(descriptor, NS_GET_USERNS, 0);
            try {
                IntByReference owner = new IntByReference();
                LibC.INSTANCE.ioctl(users, NS_GET_OWNER_UID, owner);
                return owner.getValue();
            } finally {
                close(users);
            }
        } catch (LastErrorException e) {
            throw failure("ioctl " + namespace, e.getErrorCode());
        } finally {
            close(descriptor);
        }
    }

    /** Returns the number of a device in {@code stat}, as glibc's makedev packs it. */
    public static long device(int major, int minor) {
        return (minor & 0xffL)
                | ((major & 0xfffL) << 8)
                | ((minor & 0xfff00L) << 12)
                | ((major & 0xfffff000L) << 32);
    }

    /** Returns the major of such a number. */
    public static int major(long device) {
        return (int) (((device >>> 8) & 0xfffL) | ((device >>> 32) & 0xfffff000L));
    }

    /** Returns the minor of such a number. */
    public static int minor(long device) {
        return (int) ((device & 0xffL) | ((device >>> 12) & 0xfff00L));
    }

    static PosixException failure(String what, int errno) {
        return new PosixException(what, errno, PosixCalls.INSTANCE.strerror(errno));
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

    /**
     * Gives a file an extended attribute, such as {@code trusted.x}, which only root may set and
     * read.
     */
    public static void setAttribute(Path file, String name, byte[] value) throws PosixException {
        try {
            LibC.INSTANCE.setxattr(file.toString(), name, value, value.length, 0);
        } catch (LastErrorException e) {
            throw failure("setxattr " + name + " " + file, e.getErrorCode());
        }
    }

    /**
     * Returns an extended attribute of a file.
     *
     * @param limit the most bytes that it may have
     * @throws PosixException with {@link Errno#ENODATA} when it has none of that name, and with
     *     {@link Errno#EOPNOTSUPP} when its file system has none at all
     */
    public static byte[] attribute(Path file, String name, int limit) throws PosixException {
        byte[] value = new byte[limit];
        try {
            long length = LibC.INSTANCE.getxattr(file.toString(), name, value, limit);
            return Arrays.copyOf(value, (int) length);
        } catch (LastErrorException e) {
            throw failure("getxattr " + name + " " + file, e.getErrorCode());
        }
    }

    /** Opens a file, or a directory, without waiting for any writer of a pipe. */
    static int openToRead(Path file) throws PosixException {
        return open(file, O_RDONLY | O_NONBLOCK, 0);
    }

    /** Opens a file likewise, unless it is a link. */
    static int openToReadNoLink(Path file) throws PosixException {
        return open(file, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0);
    }

    static void close(int descriptor) {
        PosixCalls.INSTANCE.close(descriptor);
    }

    /** Locks what a descriptor leads to, unless another one has it locked. */
    static boolean lock(int descriptor) throws PosixException {
        try {
            PosixCalls.check(
                    PosixCalls.INSTANCE.flock(descriptor, LOCK_EX | LOCK_NB), () -> "flock");
            return true;
        } catch (PosixException e) {
            if (e.errno() == Errno.EAGAIN) {
                return false;
            }
            throw e;
        }
    }

    private static int open(Path file, int flags, int mode) throws PosixException {
        return PosixCalls.check(
                PosixCalls.INSTANCE.open(file.toString(), flags | O_CLOEXEC, mode),
                () -> "open " + file);
    }
}
