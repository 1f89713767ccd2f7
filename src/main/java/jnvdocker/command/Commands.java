package jnvdocker.command;

import jnvdocker.command.caller.OwnCommands;
import jnvdocker.command.caller.UnforeseenFailure;
import jnvdocker.command.complete.Completion;
import jnvdocker.command.gpu.GpuCommand;
import jnvdocker.command.job.JobCommands;
import jnvdocker.command.start.RunHelp;
import jnvdocker.command.start.StartContainer;
import jnvdocker.command.start.VolumeSetup;
import jnvdocker.docker.cli.DockerCommandLine;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.LocalZone;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Runs the commands that clients request. Every refusal and failure becomes a message here. */
public final class Commands {
    private static final Logger LOG = LoggerFactory.getLogger(Commands.class);

    private final StartContainer startContainer;
    private final GpuCommand gpu;
    private final JobCommands jobs;
    private final Map<String, OwnCommands> groups = new TreeMap<>();
    private final VolumeSetup volumeSetup;
    private final Completion completion;

    /**
     * @param others groups of commands besides those of {@code gpu}
     */
    public Commands(
            StartContainer startContainer,
            VolumeSetup volumeSetup,
            GpuCommand gpu,
            JobCommands jobs,
            List<OwnCommands> others) {
        this.startContainer = startContainer;
        this.volumeSetup = volumeSetup;
        this.gpu = gpu;
        this.jobs = jobs;
        groups.put(gpu.name(), gpu);
        others.forEach(each -> groups.put(each.name(), each));
        this.completion = new Completion(gpu.visible(), groups, RunHelp.options());
    }

    /**
     * @throws IOException when the client is gone
     */
    public void run(ClientRequest request, ClientConnection client) throws IOException {
        zone(request).during(() -> serve(request, client));
    }

    /** A zone that is not known is refused where a time is read in it. */
    private static LocalZone zone(ClientRequest request) {
        return request.timeZone().flatMap(LocalZone::parse).orElseGet(LocalZone::host);
    }

    private void serve(ClientRequest request, ClientConnection client) throws IOException {
        try {
            dispatch(request, client);
        } catch (RefusedException | IOException | RuntimeException | StackOverflowError e) {
            LOG.debug("{} failed", request.arguments(), e);
            String message = UnforeseenFailure.message(e);
            jobs.refused(request, message);
            client.refuse(message);
        }
    }

    private void dispatch(ClientRequest request, ClientConnection client)
            throws IOException, RefusedException {
        List<String> words = DockerCommandLine.words(request.arguments());
        if (jobs.launch(words, request, client)) {
            return;
        }
        jobs.watch(request, client);
        String first = words.isEmpty() ? "" : words.getFirst();
        if (groups.containsKey(first)) {
            own(groups.get(first), words.subList(1, words.size()), request, client);
        } else if (first.equals(VolumeSetup.GROUP)) {
            volume(words, request, client);
        } else {
            startContainer.run(request, client);
        }
    }

    private void volume(List<String> words, ClientRequest request, ClientConnection client)
            throws IOException, RefusedException {
        if (VolumeSetup.isMeant(words)) {
            volumeSetup.run(request, client);
        } else {
            startContainer.run(request, client);
        }
    }

    private void own(
            OwnCommands group,
            List<String> arguments,
            ClientRequest request,
            ClientConnection client)
            throws IOException, RefusedException {
        if (group.equals(gpu) && Completion.isRequested(arguments)) {
            completion.run(arguments, request, client);
        } else {
            group.run(arguments, request, client);
        }
    }
}
