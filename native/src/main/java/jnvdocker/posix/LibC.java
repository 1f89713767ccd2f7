package jnvdocker.posix;

import com.sun.jna.LastErrorException;
import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;

/** The calls of libc that neither Java nor jnr-posix has. The C names stop here. */
interface LibC extends Library {
    LibC INSTANCE = Native.load("c", LibC.class);

    /** The call openat2, which glibc has no function for. */
    long syscall(long number, int directory, String path, Pointer how, long size)
            throws LastErrorException;

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

    int getgrouplist(String user, int group, int[] groups, IntByReference number);
}
