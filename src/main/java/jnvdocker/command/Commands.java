package jnvdocker.command;

import jnvdocker.command.caller.UnforeseenFailure;
import jnvdocker.command.complete.Completion;
import jnvdocker.command.gpu.GpuCommand;
import jnvdocker.command.job.JobCommands;
import jnvdocker.command.k8s.K8sCommand;
import jnvdocker.command.mesos.MesosCommand;
import jnvdocker.command.runtime.RuntimeCommand;
import jnvdocker.command.start.RunHelp;
import jnvdocker.command.start.StartContainer;
import jnvdocker.command.start.VolumeSetup;
import jnvdocker.docker.cli.DockerCommandLine;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
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
    private final MesosCommand mesos;
    private final RuntimeCommand runtime;
    private final K8sCommand k8s;
    private final VolumeSetup volumeSetup;
    private final Completion completion;

    public Commands(
            StartContainer startContainer,
            VolumeSetup volumeSetup,
            GpuCommand gpu,
            JobCommands jobs,
            MesosCommand mesos,
            RuntimeCommand runtime,
            K8sCommand k8s) {
        this.startContainer = startContainer;
        this.volumeSetup = volumeSetup;
        this.gpu = gpu;
        this.jobs = jobs;
        this.mesos = mesos;
        this.runtime = runtime;
        this.k8s = k8s;
        this.completion =
                new Completion(
                        gpu.visible(),
                        new TreeMap<>(
                                Map.of(
                                        "gpu",
                                        gpu::commands,
                                        "k8s",
                                        k8s::commands,
                                        "mesos",
                                        mesos::commands,
                                        "runtime",
                                        runtime::commands)),
                        RunHelp.options());
    }

    /**
     * @throws IOException when the client is gone
     */
    public void run(ClientRequest request, ClientConnection client) throws IOException {
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
        switch (words.isEmpty() ? "" : words.getFirst()) {
            case "gpu" -> gpu(words.subList(1, words.size()), request, client);
            case "k8s" -> k8s.run(words.subList(1, words.size()), request, client);
            case "mesos" -> mesos.run(words.subList(1, words.size()), request, client);
            case "runtime" -> runtime.run(words.subList(1, words.size()), request, client);
            case VolumeSetup.GROUP -> volume(words, request, client);
            default -> startContainer.run(request, client);
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

    private void gpu(List<String> arguments, ClientRequest request, ClientConnection client)
            throws IOException, RefusedException {
        if (Completion.isRequested(arguments)) {
            completion.run(arguments, request, client);
        } else {
            gpu.run(arguments, request, client);
        }
    }
}
