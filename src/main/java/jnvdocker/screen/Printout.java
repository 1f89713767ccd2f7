package jnvdocker.screen;

import jnvdocker.protocol.ClientConnection;

import java.io.IOException;
import java.io.Writer;

/**
 * The output of a command. The client gets it in pieces, so that it may have any length; short
 * output is kept until the command has ended.
 */
public final class Printout extends Writer {
    private static final int PIECE = 32 << 10;

    private final ClientConnection client;
    private final boolean whole;
    private final Screen screen;
    private final StringBuilder text = new StringBuilder();
    private boolean begun;
    private IOException failure;

    /**
     * @param whole whether all of it is kept, and counts as the client's memory
     * @param screen the screen that it is read on
     */
    public Printout(ClientConnection client, boolean whole, Screen screen) {
        this.client = client;
        this.whole = whole;
        this.screen = screen;
    }

    @Override
    public void write(char[] characters, int offset, int length) throws IOException {
        check();
        text.append(characters, offset, length);
        if (text.length() < PIECE) {
            return;
        }
        try {
            if (whole) {
                client.take(length);
            } else {
                client.print(screen.readable(text.toString()));
                text.setLength(0);
                begun = true;
            }
        } catch (IOException e) {
            failure = e;
            throw e;
        }
    }

    public void println(String line) throws IOException {
        write(line);
        write("\n");
    }

    /**
     * @throws IOException when the client did not take all of the output: it wants no more
     */
    private void check() throws IOException {
        if (failure != null) {
            throw failure;
        }
    }

    /** Counts data that is kept for the printout as the client's memory. */
    public Reserved reserve(long bytes) throws IOException {
        client.take(bytes);
        return () -> client.give(bytes);
    }

    @FunctionalInterface
    public interface Reserved extends AutoCloseable {
        @Override
        void close();
    }

    /** Returns the output that the client has not received yet. */
    public String rest() {
        return screen.readable(text.toString().stripTrailing());
    }

    /** Sends the rest. */
    public void end() throws IOException {
        String rest = rest();
        if (begun || !rest.isEmpty()) {
            client.out(rest);
        }
    }

    /** Keeps the output until it must be sent. */
    @Override
    public void flush() {}

    @Override
    public void close() {}
}
