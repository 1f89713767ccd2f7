package jnvdocker.command.gpu.change;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.CommandOutcome;
import jnvdocker.command.caller.OwnCommand;
import jnvdocker.posix.HostNames;
import jnvdocker.posix.NoAnswerException;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

@Command(
        name = "reload",
        description = "Read the configuration again, as 'systemctl reload jnvdocker' does.")
public final class GpuReload extends OwnCommand {
    private final Reload reload;
    private final ClientRequest request;

    /** Reads the configuration again. */
    @FunctionalInterface
    public interface Reload {
        /**
         * @throws IOException naming the mistake; the previous settings stay in force then
         */
        Read perform() throws IOException;
    }

    /**
     * What was read.
     *
     * @param files in their order
     * @param groups those of the host that limits name
     */
    public record Read(List<Path> files, Set<String> groups) {
        public Read {
            files = List.copyOf(files);
            groups = Set.copyOf(groups);
        }

        /** The files, for people. */
        public String text() {
            return "read the configuration again: "
                    + (files.isEmpty()
                            ? "there is no file"
                            : files.stream().map(Path::toString).collect(Collectors.joining(", ")));
        }

        /** What has no effect, for people. */
        public List<String> warnings() {
            return groups.stream()
                    .sorted()
                    .filter(group -> !mayBe(group))
                    .map(group ->
                            "this host has no group %s; its limits count for nobody"
                                    .formatted(Quote.shown(group)))
                    .toList();
        }

        private static boolean mayBe(String group) {
            try {
                return HostNames.ofThisHost().group(group).isPresent();
            } catch (NoAnswerException _) {
                return true; // the directory of a network may have it
            }
        }
    }

    public GpuReload(Reload reload, ClientRequest request) {
        this.reload = reload;
        this.request = request;
    }

    @Override
    public CommandOutcome call() throws RefusedException, IOException {
        Caller.refuseUnlessRoot(request, "reload the configuration");
        Read read = reload.perform();
        print(read.text());
        read.warnings().forEach(warning -> warn("jnvdocker: warning: " + warning));
        return CommandOutcome.OK;
    }
}
