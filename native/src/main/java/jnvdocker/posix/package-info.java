/**
 * System calls that Java lacks. An error is an exception with its errno. Start at {@link Posix};
 * {@link HostNames} finds the names of users, which may be slow.
 *
 * <p>Where Java's own API does a call well, it is Java's. All others have one binding each:
 * jnr-posix makes those that it has ({@link PosixCalls}), and JNA those that jnr-posix lacks
 * ({@link LibC}), and what is in the driver's NVML ({@code jnvdocker.nvml}).
 *
 * <table>
 * <caption>Each call, and why not by another library</caption>
 * <tr><th>calls<th>by<th>why
 * <tr><td>chmod, chown<td>jnr-posix<td>Java's fail without an errno
 * <tr><td>close, flock, open<td>jnr-posix<td>Java has no numbers of descriptors, no flock, and
 *     waits for the writer of a pipe
 * <tr><td>geteuid<td>jnr-posix<td>Java has none
 * <tr><td>getgrgid, getgrnam, getpwnam, getpwuid<td>jnr-posix<td>Java's find names of files' owners
 *     only, and take a failure for a missing user
 * <tr><td>strerror<td>jnr-posix<td>Java has none
 * <tr><td>bind, getsockopt, recv, sendto, setsockopt, socket<td>JNA<td>jnr-posix has sendmsg and
 *     recvmsg on a pair of sockets alone; Java's Unix sockets have no datagrams and no process ids
 * <tr><td>capget, capset<td>JNA<td>jnr-posix has none
 * <tr><td>clock_gettime<td>JNA<td>jnr-posix has gettimeofday alone, whose clock is set
 * <tr><td>getgrouplist<td>JNA<td>jnr-posix has getgroups alone, for the groups of this process
 * <tr><td>getxattr, setxattr<td>JNA<td>jnr-posix has none; Java's have attributes of the class
 *     {@code user} alone
 * <tr><td>ioctl<td>JNA<td>jnr-posix has none
 * <tr><td>mknod, mount, umount2<td>JNA<td>jnr-posix has none
 * <tr><td>openat2<td>JNA's syscall<td>glibc has no function for it; jnr-posix's syscall takes ints
 *     alone, and is not in its interface
 * <tr><td>statvfs<td>JNA<td>jnr-posix has none; Java's FileStore does not count files
 * <tr><td>getdents64, readlinkat<td>Java's own linker ({@link LinkDirectory})<td>there may be
 *     hundreds of thousands: the others take longer for each call
 * <tr><td>fsync, kill, link, mkdir, readlink, rename, stat, symlink, umask, unlink<td>Java<td>files,
 *     processes, and the launcher's umask
 * </table>
 */
package jnvdocker.posix;
