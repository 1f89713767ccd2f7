package jnvdocker.kubernetes.kubelet;

import io.grpc.Status;

import jnvdocker.words.Quote;

import java.io.IOException;
import java.time.Duration;
import java.util.Optional;

/** A call that got no answer, or was refused; the message is the reason. */
public final class GrpcException extends IOException {
    private static final long serialVersionUID = 1L;

    /** The longest text of the other side that is kept, in characters. */
    private static final int MOST_TEXT = 300;

    private final Status.Code code;

    private GrpcException(Status.Code code, String reason, Throwable cause) {
        super(reason, cause);
        this.code = code;
    }

    /**
     * @param limit that the call had
     */
    static GrpcException of(Status status, Duration limit) {
        return new GrpcException(status.getCode(), reason(status, limit), status.getCause());
    }

    private static String reason(Status status, Duration limit) {
        if (status.getCode() == Status.Code.DEADLINE_EXCEEDED) {
            return "no answer within " + limit.toMillis() / 1e3 + " s";
        }
        Throwable cause = status.getCause();
        if (cause instanceof IOException && cause.getCause() instanceof IOException) {
            cause = cause.getCause(); // without the socket, which our callers name
        }
        if (cause instanceof IOException && cause.getMessage() != null) {
            return cause.getMessage();
        }
        String line =
                Optional.ofNullable(status.getDescription())
                        .flatMap(text -> text.lines().findFirst())
                        .orElse(status.getCode().name());
        return Quote.lines(line.length() > MOST_TEXT ? line.substring(0, MOST_TEXT) + "…" : line);
    }

    /** How gRPC classes it. */
    public Status.Code code() {
        return code;
    }
}
