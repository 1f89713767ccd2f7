package jnvdocker.proxy;

import jnvdocker.words.FailedException;

/** A request that is answered by us, in place of the engine. */
final class RequestRefusal extends FailedException {
    private static final long serialVersionUID = 1L;

    static final String BAD_REQUEST = "400 Bad Request";
    static final String TIMEOUT = "408 Request Timeout";
    static final String TOO_LARGE = "413 Content Too Large";
    static final String HEAD_TOO_LARGE = "431 Request Header Fields Too Large";
    static final String INTERNAL = "500 Internal Server Error";
    static final String UNAVAILABLE = "503 Service Unavailable";

    private final String status;

    /**
     * @param status one of those above, as the first line of the answer has it
     */
    RequestRefusal(String status, String what, String remedy) {
        super(what, remedy);
        this.status = status;
    }

    /** A request that is not one, or that another parser could understand differently. */
    static RequestRefusal malformed(String what) {
        return new RequestRefusal(BAD_REQUEST, what, "use a client of Docker's API over HTTP/1.1");
    }

    String status() {
        return status;
    }
}
