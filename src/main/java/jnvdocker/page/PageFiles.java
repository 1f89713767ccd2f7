package jnvdocker.page;

import jnvdocker.web.WebAnswer;
import jnvdocker.web.WebPages;
import jnvdocker.web.WebRequest;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;

/** The files of the page. They contain no names: those come with the documents that it loads. */
public final class PageFiles implements WebPages {
    private static final String SCRIPT = "text/javascript; charset=utf-8";

    /** The files' types, by their paths. */
    private static final Map<String, String> TYPES =
            Map.of(
                    "/index.html", "text/html; charset=utf-8",
                    "/page/style.css", "text/css; charset=utf-8",
                    "/page/icon.svg", "image/svg+xml",
                    "/page/main.js", SCRIPT,
                    "/page/data.js", SCRIPT,
                    "/page/elements.js", SCRIPT,
                    "/page/now.js", SCRIPT,
                    "/page/chart.js", SCRIPT,
                    "/page/lists.js", SCRIPT);

    @Override
    public Optional<WebAnswer> answer(WebRequest request) throws IOException {
        String path = request.path().equals("/") ? "/index.html" : request.path();
        String type = TYPES.get(path);
        return type == null
                ? Optional.empty()
                : Optional.of(WebAnswer.Page.of(type, text(path.replaceFirst("^/(page/)?", ""))));
    }

    private static String text(String name) throws IOException {
        try (InputStream file = PageFiles.class.getResourceAsStream(name)) {
            if (file == null) {
                throw new FileNotFoundException("jnvdocker's own file " + name);
            }
            return new String(file.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
