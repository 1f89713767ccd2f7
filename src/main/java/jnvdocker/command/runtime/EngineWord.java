package jnvdocker.command.runtime;

import jnvdocker.oci.install.EngineKind;
import jnvdocker.words.Quote;

import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

import java.util.Arrays;
import java.util.stream.Collectors;

/** The name of an engine, as typed. */
final class EngineWord {
    private EngineWord() {}

    /**
     * @throws ParameterException when there is no such engine
     */
    static EngineKind parse(String word, CommandSpec spec) {
        for (EngineKind kind : EngineKind.values()) {
            if (kind.word().equals(word)) {
                return kind;
            }
        }
        throw new ParameterException(
                spec.commandLine(),
                "unknown engine "
                        + Quote.quoted(word)
                        + "; choose "
                        + Arrays.stream(EngineKind.values())
                                .map(EngineKind::word)
                                .collect(Collectors.joining(", ")));
    }
}
