package jnvdocker.cuda;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Compiles libraries that pass for a libcuda, with the compiler that the build needs anyway. */
final class TestingLibcuda {
    private TestingLibcuda() {}

    /**
     * @param body the body of cuDriverGetVersion(int *version)
     */
    static Path make(Path folder, String body) throws IOException, InterruptedException {
        String head = "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n";
        return compile(folder, "libcuda.so.1", head + function(body));
    }

    static String function(String body) {
        return "int cuDriverGetVersion(int *version);\nint cuDriverGetVersion(int *version) {"
                + body
                + "}\n";
    }

    static Path compile(Path folder, String name, String source, String... options)
            throws IOException, InterruptedException {
        Path code = Files.writeString(folder.resolve(name + ".c"), source);
        Path library = folder.resolve(name);
        List<String> words = new ArrayList<>(List.of("cc", "-shared", "-fPIC", "-o"));
        words.addAll(List.of(library.toString(), code.toString()));
        words.addAll(List.of(options));
        Process compiler = new ProcessBuilder(words).inheritIO().start();
        if (compiler.waitFor() != 0) {
            throw new IOException("cannot compile " + code);
        }
        return library;
    }
}
