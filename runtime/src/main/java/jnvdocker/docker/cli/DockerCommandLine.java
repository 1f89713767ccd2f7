package jnvdocker.docker.cli;

import jnvdocker.request.InvalidGpuRequestException;

import java.io.IOException;
import java.util.List;

/** The words that a user typed after {@code docker}. */
public sealed interface DockerCommandLine
        permits DockerCommandLine.NotOurs,
                DockerCommandLine.LeaveToDocker,
                DockerCommandLine.Help,
                RunCommand {

    /** A command that makes no container. */
    record NotOurs() implements DockerCommandLine {}

    /**
     * Nothing that docker is known to make a container from: an option that is wrong or in no help,
     * a missing image. Docker itself explains that best.
     *
     * @param argv as typed, without the options that docker does not have
     */
    record LeaveToDocker(List<String> argv) implements DockerCommandLine {
        public LeaveToDocker {
            argv = List.copyOf(argv);
        }
    }

    /** {@code run --help} and the like, without the options that docker does not have. */
    record Help(List<String> argv) implements DockerCommandLine {
        public Help {
            argv = List.copyOf(argv);
        }
    }

    /**
     * The command and what follows it, without docker's global options.
     *
     * @throws IOException never; it is the price of one reader for all options
     */
    static List<String> words(List<String> argv) throws IOException {
        return new CommandLineParser(argv, _ -> "").words();
    }

    /**
     * @param argv the arguments after the program's name, any text in them
     * @throws InvalidGpuRequestException when {@code --gpus} cannot be understood
     * @throws IOException only as thrown by {@code help}
     */
    static DockerCommandLine parse(List<String> argv, DockerHelp help)
            throws IOException, InvalidGpuRequestException {
        return new CommandLineParser(argv, help).parse();
    }
}
