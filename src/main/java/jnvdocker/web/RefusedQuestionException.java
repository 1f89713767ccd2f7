package jnvdocker.web;

import io.netty.handler.codec.http.HttpResponseStatus;

import jnvdocker.words.RefusedException;

/** A question over HTTP that is not let through. */
final class RefusedQuestionException extends RefusedException {
    private static final long serialVersionUID = 1L;

    private final int status;

    RefusedQuestionException(HttpResponseStatus status, String what, String remedy) {
        super(what, remedy);
        this.status = status.code();
    }

    int status() {
        return status;
    }
}
