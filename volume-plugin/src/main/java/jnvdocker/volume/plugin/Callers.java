package jnvdocker.volume.plugin;

import io.netty.channel.Channel;
import io.netty.channel.nio.AbstractNioChannel;

import jnvdocker.posix.Posix;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.PeerProcess;

import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.channels.SocketChannel;

/** The processes at the other ends of connections. */
final class Callers {
    private final Method javaChannel = javaChannel();

    /** A process that has ended meanwhile gets a start time that no process has. */
    ProcessId of(Channel connection) throws IOException {
        SocketChannel socket = socket(connection);
        int pid = Posix.peer(socket).pid();
        return PeerProcess.of(socket).orElse(new ProcessId(pid, 0));
    }

    private SocketChannel socket(Channel connection) throws IOException {
        try {
            return (SocketChannel) javaChannel.invoke(connection);
        } catch (ReflectiveOperationException e) {
            throw new IOException("no socket behind a connection: " + e.getMessage(), e);
        }
    }

    /** Netty keeps it to itself, and has the peer's process id for its own native sockets alone. */
    private static Method javaChannel() {
        try {
            Method method = AbstractNioChannel.class.getDeclaredMethod("javaChannel");
            method.setAccessible(true);
            return method;
        } catch (NoSuchMethodException e) {
            throw new IllegalStateException(e);
        }
    }
}
