package jnvdocker.posix;

import com.sun.jna.LastErrorException;
import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.PointerByReference;

/** The calls of libc that Java does not have. The C names stop here. */
interface LibC extends Library {
    LibC INSTANCE = Native.load("c", LibC.class);

    int geteuid();

    int chown(String path, int uid, int gid) throws LastErrorException;

    int chmod(String path, int mode) throws LastErrorException;

    int open(String path, int flags, int mode) throws LastErrorException;

    int close(int descriptor);

    /** The call openat2, which glibc has no function for. */
    long syscall(long number, int directory, String path, Pointer how, long size)
            throws LastErrorException;

    int flock(int descriptor, int operation) throws LastErrorException;

    int setxattr(String path, String name, byte[] value, long size, int flags)
            throws LastErrorException;

    long getxattr(String path, String name, byte[] into, long size) throws LastErrorException;

    int mknod(String path, int mode, long device) throws LastErrorException;

    int capget(Pointer header, Pointer data) throws LastErrorException;

    int capset(Pointer header, Pointer data) throws LastErrorException;

    int ioctl(int descriptor, long request, int argument) throws LastErrorException;

    int ioctl(int descriptor, long request, IntByReference value) throws LastErrorException;

    int mount(String source, String target, String type, long flags, String data)
            throws LastErrorException;

    int umount2(String target, int flags) throws LastErrorException;

    int getsockopt(int socket, int level, int option, Pointer value, IntByReference length)
            throws LastErrorException;

    int statvfs(String path, Pointer room) throws LastErrorException;

    int clock_gettime(int clock, Pointer time) throws LastErrorException;

    int socket(int domain, int type, int protocol) throws LastErrorException;

    long sendto(int socket, byte[] bytes, long length, int flags, byte[] address, int addressLength)
            throws LastErrorException;

    int bind(int socket, byte[] address, int addressLength) throws LastErrorException;

    int setsockopt(int socket, int level, int option, Pointer value, int length)
            throws LastErrorException;

    long recv(int socket, byte[] into, long length, int flags) throws LastErrorException;

    String strerror(int errno);

    int getpwuid_r(int uid, Pointer entry, Pointer buffer, long size, PointerByReference found);

    int getpwnam_r(String name, Pointer entry, Pointer buffer, long size, PointerByReference found);

    int getgrouplist(String user, int group, int[] groups, IntByReference number);

    int getgrgid_r(int gid, Pointer entry, Pointer buffer, long size, PointerByReference found);

    int getgrnam_r(String name, Pointer entry, Pointer buffer, long size, PointerByReference found);
}
