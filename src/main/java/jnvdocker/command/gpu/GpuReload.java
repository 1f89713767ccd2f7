package jnvdocker.command.gpu;

import jnvdocker.command.caller.Caller;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;

@Command(
        name = "reload",
        description = "Read the configuration again, as 'systemctl reload jnvdocker' does.")
public final class GpuReload implements Callable<Integer> {
    private final Reload reload;
    private final ClientRequest request;

    @Spec private CommandSpec spec;

    /** Reads the configuration again. */
    @FunctionalInterface
    public interface Reload {
        /**
         * @return the file
         * @throws IOException naming the mistake; the previous settings stay in force then
         */
        Path perform() throws IOException;
    }

    GpuReload(Reload reload, ClientRequest request) {
        this.reload = reload;
        this.request = request;
    }

    @Override
    public Integer call() throws RefusedException, IOException {
        Caller.refuseUnlessRoot(request, "reload the configuration");
        spec.commandLine().getOut().println("read " + reload.perform() + " again");
        return ExitCode.OK.code();
    }
}
