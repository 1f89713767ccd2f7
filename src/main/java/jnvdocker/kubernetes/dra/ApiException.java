package jnvdocker.kubernetes.dra;

import java.io.IOException;

/** An API server has refused a request. */
final class ApiException extends IOException {
    private static final long serialVersionUID = 1L;

    private final int code;

    /**
     * @param code of HTTP
     */
    ApiException(int code, String message) {
        super(message);
        this.code = code;
    }

    /** Whether there is no such object. */
    boolean isNotFound() {
        return code == 404;
    }

    /** Whether the credentials do not suffice for it. */
    boolean isForbidden() {
        return code == 403;
    }
}
