package jnvdocker.web;

import java.util.Optional;

/** {@code /healthz}, for clients that check whether the daemon answers. */
public final class HealthPage implements WebPages {
    private static final String PATH = "/healthz";

    @Override
    public Optional<WebAnswer> answer(WebRequest request) {
        return request.path().equals(PATH)
                ? Optional.of(WebAnswer.Page.of(WebAnswer.TEXT, "ok\n"))
                : Optional.empty();
    }
}
