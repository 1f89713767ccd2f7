package jnvdocker.command.gpu.change;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.OwnCommand;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;

import java.io.IOException;
import java.nio.file.Path;

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
         * @return the file
         * @throws IOException naming the mistake; the previous settings stay in force then
         */
        Path perform() throws IOException;
    }

    public GpuReload(Reload reload, ClientRequest request) {
        this.reload = reload;
        this.request = request;
    }

    @Override
    public Integer call() throws RefusedException, IOException {
        Caller.refuseUnlessRoot(request, "reload the configuration");
        print("read " + reload.perform() + " again");
        return ExitCode.OK.code();
    }
}
