package jnvdocker.command.start;

import jnvdocker.core.Leases;
import jnvdocker.docker.cli.RunCommand;
import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.docker.engine.EngineObjects;
import jnvdocker.grant.Waiting;
import jnvdocker.holder.ContainerEngine;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Lease;
import jnvdocker.lease.text.HoldersText;
import jnvdocker.protocol.CallResult;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.ForeignText;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Finds out before a wait for GPUs what docker would refuse after it: a name in use, a network or
 * another container that does not exist, an option that docker cannot read. Nothing is created:
 * what only a creation shows, such as a port that is taken, is found out after the wait.
 */
final class StartTrial implements Waiting.Trial {
    private static final Duration LIMIT = Duration.ofSeconds(20);

    /** No engine has it, so docker creates nothing, and says so when all else is right. */
    private static final String RUNTIME = "jnvdocker-trial";

    private static final String DOCKER = "docker: ";
    private static final String ENGINE = "Error response from daemon: ";

    private final RunCommand run;
    private final DockerEngine engine;
    private final Leases leases;
    private final ClientRequest request;
    private final ClientConnection client;

    StartTrial(
            RunCommand run,
            DockerEngine engine,
            Leases leases,
            ClientRequest request,
            ClientConnection client) {
        this.run = run;
        this.engine = engine;
        this.leases = leases;
        this.request = request;
        this.client = client;
    }

    @Override
    public void run() throws RefusedException, IOException {
        refuseTakenName();
        EngineObjects.Needed needed =
                new EngineObjects.Needed(run.networks(), run.otherContainers());
        engine.objects().refuseMissing(needed, LIMIT);
        refuseUnreadable();
    }

    private void refuseTakenName() throws RefusedException, IOException {
        Optional<String> name = run.name().filter(it -> !it.isEmpty());
        if (name.isEmpty()) {
            return;
        }
        Optional<ContainerEngine.Listed> other =
                engine.all(LIMIT).stream()
                        .filter(each -> each.name().equals(name.get()))
                        .findFirst();
        if (other.isPresent()) {
            throw new RefusedException(
                    "the name %s is in use by %s"
                            .formatted(Quote.quoted(name.get()), description(other.get())),
                    "remove that container with 'docker rm -f %s', or choose another name"
                            .formatted(Quote.shown(name.get())));
        }
    }

    /** The state of a container; the GPUs and the user of one that holds some. */
    private String description(ContainerEngine.Listed container) throws IOException {
        String what = "container " + Claim.shortId(container.id()) + " (" + container.state() + ")";
        Optional<Lease> lease =
                leases.live().stream()
                        .filter(each -> each.claim().isOfContainer(container.id()))
                        .findFirst();
        return lease.map(each -> what + ": " + HoldersText.held(each.claim().gpus(), List.of(each)))
                .orElse(what);
    }

    private void refuseUnreadable() throws RefusedException, IOException {
        if (readsFromPipes()) {
            return;
        }
        CallResult docker = client.captureAll(request.dockerWith(run.refused(RUNTIME)));
        if (docker.succeeded() || docker.output().contains(RUNTIME)) {
            return;
        }
        throw new RefusedException(
                "docker would refuse this command after the wait: " + reason(docker.output()),
                "correct it ('docker run --help' explains the options)");
    }

    /** A pipe that docker reads now would be empty after the wait. */
    private boolean readsFromPipes() throws IOException {
        if (run.readFiles().isEmpty()) {
            return false;
        }
        List<String> check =
                new ArrayList<>(
                        List.of(
                                "sh",
                                "-c",
                                "for f; do [ ! -e \"$f\" ] || [ -f \"$f\" ] || exit 1; done",
                                "sh"));
        check.addAll(run.readFiles());
        return !client.captureQuietly(check).succeeded();
    }

    /** The first line that says why, without docker's beginnings. */
    private static String reason(String output) {
        String line =
                output.lines()
                        .map(String::strip)
                        .filter(it -> !it.isEmpty() && !it.startsWith("WARNING"))
                        .findFirst()
                        .orElse("it does not say why");
        String reason = without(ENGINE, without(DOCKER, line));
        return ForeignText.line(
                reason.endsWith(".") ? reason.substring(0, reason.length() - 1) : reason);
    }

    private static String without(String beginning, String text) {
        return text.startsWith(beginning) ? text.substring(beginning.length()) : text;
    }
}
