package jnvdocker.docker.cli;

import jnvdocker.request.GpuRequest;
import jnvdocker.request.InvalidGpuRequestException;
import jnvdocker.words.Refusal;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** Finds the verb behind docker's global options, then the image behind the verb's. */
final class CommandLineParser {
    private static final DockerCommandLine NOT_OURS = new DockerCommandLine.NotOurs();

    private final List<String> argv;
    private final DockerHelp help;

    CommandLineParser(List<String> argv, DockerHelp help) {
        this.argv = List.copyOf(argv);
        this.help = help;
    }

    /**
     * Docker (20.10 and 28.2) makes the container even when {@code --help} or {@code --version}
     * stands before the verb, so they mean nothing here.
     */
    DockerCommandLine parse() throws IOException, InvalidGpuRequestException {
        Optional<TypedOptions> globals = read(0, KnownOptions.only(DockerOptions.GLOBAL));
        if (globals.isEmpty()) {
            return new DockerCommandLine.LeaveToDocker(argv);
        }
        int word = verbIndex(globals.get().operands());
        Optional<Verb> verb = verbAt(word);
        return verb.isEmpty() ? NOT_OURS : container(globals.get(), verb.get(), word + 1);
    }

    /** The index at which a verb may be, behind {@code container} too. */
    private int verbIndex(int word) throws IOException {
        if (!isWord(word, "container")) {
            return word;
        }
        Optional<TypedOptions> between = read(word + 1, KnownOptions.only(DockerOptions.CONTAINER));
        return between.isEmpty() || between.get().endsWithDashes()
                ? argv.size()
                : between.get().operands();
    }

    /** The place of a further word, which docker would read with these. */
    WordPlace next() throws IOException {
        Optional<TypedOptions> globals = read(0, KnownOptions.only(DockerOptions.GLOBAL));
        int word = globals.isEmpty() ? argv.size() : verbIndex(globals.get().operands());
        Optional<Verb> verb = verbAt(word);
        if (verb.isEmpty()) {
            return new WordPlace.Elsewhere();
        }
        List<String> longer = new ArrayList<>(argv);
        longer.add("word");
        Optional<TypedOptions> read =
                new OptionReader(longer, word + 1, KnownOptions.of(verb.get(), help)).read();
        if (read.isEmpty() || read.get().operands() < argv.size() || read.get().endsWithDashes()) {
            return new WordPlace.Elsewhere();
        }
        return read.get().operands() == argv.size()
                ? new WordPlace.Option()
                : new WordPlace.Value(read.get().options().getLast().option().name());
    }

    /** The words after the global options, empty when these cannot be read. */
    List<String> words() throws IOException {
        Optional<TypedOptions> globals = read(0, KnownOptions.only(DockerOptions.GLOBAL));
        return globals.isEmpty() ? List.of() : argv.subList(globals.get().operands(), argv.size());
    }

    private DockerCommandLine container(TypedOptions globals, Verb verb, int start)
            throws IOException, InvalidGpuRequestException {
        OptionReader reader = new OptionReader(argv, start, KnownOptions.of(verb, help));
        Optional<TypedOptions> read = reader.read();
        if (read.isEmpty()) {
            return leaveToDocker(reader);
        }
        if (read.get().isSet("help")) {
            return new DockerCommandLine.Help(dockers(reader));
        }
        TypedOptions options = read.get();
        if (options.operands() >= argv.size() || !mayBeImage(argv.get(options.operands()))) {
            return leaveToDocker(reader);
        }
        List<String> requests = options.values(WordPlace.GPUS);
        return new RunCommand(argv, globals, verb, options, gpus(requests), capabilities(requests));
    }

    private DockerCommandLine leaveToDocker(OptionReader reader) {
        return new DockerCommandLine.LeaveToDocker(dockers(reader));
    }

    /** Docker would complain of our options instead of the mistake. */
    private List<String> dockers(OptionReader reader) {
        List<String> rest = new ArrayList<>(argv);
        for (TypedOption typed : reader.options().reversed()) {
            if (DockerOptions.OUR_NAMES.stream().anyMatch(typed::is)) {
                rest.subList(typed.from(), typed.to()).clear();
            }
        }
        return rest;
    }

    /** Docker refuses the others, and one with the form of an option must not reach its pull. */
    private static boolean mayBeImage(String operand) {
        return !operand.isEmpty() && !operand.startsWith("-");
    }

    /**
     * For several requests the engine sets NVIDIA_VISIBLE_DEVICES several times, which adds up to
     * nothing that one could mean; the same wish twice, as from a shell alias, is no contradiction.
     */
    private static GpuRequest gpus(List<String> values) throws InvalidGpuRequestException {
        GpuRequest first = null;
        for (String value : values) {
            GpuRequest request = GpuRequest.parseOption(value);
            if (first != null && !request.equals(first)) {
                String twice = "--gpus: given as '%s' and as '%s'".formatted(first, request);
                throw new InvalidGpuRequestException(
                        Refusal.of(twice + ": give it once, with all that is wanted"));
            }
            first = request;
        }
        return first;
    }

    /** The capabilities of the last request that has any: docker sets the variable for each. */
    private static List<String> capabilities(List<String> values)
            throws InvalidGpuRequestException {
        List<String> last = List.of();
        for (String value : values) {
            List<String> named = GpuRequest.parseCapabilities(value);
            last = named.isEmpty() ? last : named;
        }
        return last;
    }

    private Optional<TypedOptions> read(int start, KnownOptions known) throws IOException {
        return new OptionReader(argv, start, known).read();
    }

    private boolean isWord(int index, String word) {
        return index < argv.size() && argv.get(index).equals(word);
    }

    private Optional<Verb> verbAt(int index) {
        return Arrays.stream(Verb.values()).filter(v -> isWord(index, v.word())).findFirst();
    }
}
