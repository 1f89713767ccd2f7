package jnvdocker.protocol;

import java.io.IOException;

/** The kinds of frame; {@code native/common/frames.h} has the same letters. */
enum FrameType {
    /** The client's one question. */
    REQUEST('Q'),
    /** The client's answer to a CALL: exit code and captured output. */
    RESULT('R'),
    /** Bytes for the client's standard output. */
    OUT('O'),
    /** Bytes for the client's standard error. */
    ERR('E'),
    /** A program for the client to run as its child. */
    CALL('C'),
    /** A program for the client to run as its child; the daemon reads its output in pieces. */
    STREAM('S'),
    /** A request for the next piece of a stream. */
    MORE('M'),
    /** A piece of a stream: 64 KiB, or less at its end. */
    DATA('D'),
    /** The daemon wants no more of a stream; the client answers with the program's exit. */
    ENOUGH('N'),
    /** The client has a place in the queue, and may repeat its request if this daemon goes away. */
    WAIT('W'),
    /**
     * The length of a pause after which the client repeats its request over a new connection: the
     * last frame.
     */
    AGAIN('A'),
    /**
     * The reason why the runtime must not create a container: the last frame, for runtimes alone.
     */
    REFUSE('F'),
    /** A program for the client to become: the last frame. */
    EXEC('X'),
    /**
     * Like EXEC for a program that is not docker, with variables for its environment: the last
     * frame.
     */
    PROGRAM('P'),
    /** The code for the client to exit with: the last frame. */
    EXIT('T');

    private final char letter;

    FrameType(char letter) {
        this.letter = letter;
    }

    byte code() {
        return (byte) letter;
    }

    static FrameType of(byte code) throws IOException {
        for (FrameType type : values()) {
            if (type.code() == code) {
                return type;
            }
        }
        throw new IOException("no frame has the type " + (code & 0xff));
    }
}
