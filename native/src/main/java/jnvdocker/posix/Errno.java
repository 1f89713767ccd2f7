package jnvdocker.posix;

/** The error numbers of Linux that we distinguish; the same on x86-64 and aarch64. */
public final class Errno {
    public static final int EPERM = 1;
    public static final int ENOENT = 2;
    public static final int ESRCH = 3;
    public static final int ENXIO = 6;
    public static final int EBADF = 9;
    public static final int EACCES = 13;
    public static final int EINTR = 4;
    public static final int EAGAIN = 11;
    public static final int EEXIST = 17;
    public static final int EXDEV = 18;
    public static final int ENOTDIR = 20;
    public static final int EINVAL = 22;
    public static final int ENOTTY = 25;
    public static final int ERANGE = 34;
    public static final int ENODEV = 19;
    public static final int ENAMETOOLONG = 36;
    public static final int ENOSYS = 38;
    public static final int ELOOP = 40;
    public static final int ENODATA = 61;
    public static final int ENOPROTOOPT = 92;
    public static final int EOPNOTSUPP = 95;

    private Errno() {}
}
