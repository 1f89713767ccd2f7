package jnvdocker.docker.cli;

import java.io.IOException;
import java.util.List;

/** The place of a word that is being typed, in a command line that begins with these words. */
public sealed interface WordPlace {
    /** The name of the option that requests GPUs. */
    String GPUS = "gpus";

    /** An option of docker's run or create, or the image. */
    record Option() implements WordPlace {}

    /**
     * The value of such an option.
     *
     * @param option its name, without dashes
     */
    record Value(String option) implements WordPlace {}

    /** Any other place, and one behind what docker may not know. */
    record Elsewhere() implements WordPlace {}

    /**
     * @param words the words before it
     * @throws IOException never; it is the price of one reader for all options
     */
    static WordPlace behind(List<String> words) throws IOException {
        return new CommandLineParser(words, _ -> "").next();
    }
}
