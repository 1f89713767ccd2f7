package jnvdocker.command.runtime;

import jnvdocker.command.caller.OwnCommand;
import jnvdocker.oci.install.EngineKind;
import jnvdocker.words.Quote;

import picocli.CommandLine.ParameterException;

import java.util.Arrays;
import java.util.stream.Collectors;

/** The name of an engine, as typed. */
final class EngineWord {
    private EngineWord() {}

    /**
     * @throws ParameterException when there is no such engine
     */
    static EngineKind parse(String word, OwnCommand command) {
        for (EngineKind kind : EngineKind.values()) {
            if (kind.word().equals(word)) {
                return kind;
            }
        }
        throw command.usage(
                "unknown engine "
                        + Quote.quoted(word)
                        + "; choose "
                        + Arrays.stream(EngineKind.values())
                                .map(EngineKind::word)
                                .collect(Collectors.joining(", ")));
    }
}
