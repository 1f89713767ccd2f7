package jnvdocker.command;

import jnvdocker.labels.Quote;
import jnvdocker.labels.RefusedException;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Leases;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Refusals;
import jnvdocker.protocol.ExitCode;
import jnvdocker.protocol.Request;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.util.concurrent.Callable;

@Command(
        name = "release",
        description = {
            "Ends the lease of a container that is gone; anybody may ask for that.",
            "With --force, of one that may still run: for root, and for the user whose it is."
        })
final class GpuRelease implements Callable<Integer> {
    private final Leases leases;
    private final Request request;

    @Spec private CommandSpec spec;

    @Parameters(
            paramLabel = "CLAIM",
            description = "A claim's id or the beginning of it, or its container's name.")
    private String claim;

    @Option(
            names = "--force",
            description = "Whatever its container does; the history tells who did it, and why.")
    private boolean force;

    @Option(
            names = "--reason",
            paramLabel = "TEXT",
            description = "Why; --force needs it. At most " + Reason.LONGEST + " characters.")
    private String reason;

    GpuRelease(Leases leases, Request request) {
        this.leases = leases;
        this.request = request;
    }

    @Override
    public Integer call() throws IOException, RefusedException {
        checkUsage();
        Lease lease = LiveClaim.find(claim, leases.live());
        if (force) {
            refuseOthers(lease);
            leases.releaseByForce(lease.claim().id(), who() + ": " + Quote.shown(reason.strip()));
        } else {
            leases.release(lease.claim().id());
        }
        String still = force ? "; " + whatItCanDo(lease.claim()) : "";
        spec.commandLine()
                .getOut()
                .println(
                        "released "
                                + Holding.gpus(lease)
                                + " of "
                                + Refusals.holder(lease)
                                + still);
        return ExitCode.OK.code();
    }

    private static String whatItCanDo(Claim claim) {
        if (claim.isOfTask()) {
            return "if it runs, it can use those that it has opened as before: "
                    + Refusals.toEnd(claim);
        }
        return claim.isOfProcess()
                ? "if it runs, it can use them as before: " + Refusals.toEnd(claim)
                : "if its container runs, it can use them as before: stop it";
    }

    private void checkUsage() {
        if (force != (reason != null && !reason.isBlank())) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--force and --reason go together: say why, in a few words");
        }
        if (force) {
            Reason.check(reason, spec);
        }
    }

    private void refuseOthers(Lease lease) throws RefusedException {
        boolean isOwner = Caller.owner(request).uid() == lease.claim().owner().uid();
        if (request.peer().uid() != 0 && !isOwner) {
            throw new RefusedException(
                    "claim "
                            + lease.claim().id()
                            + " is "
                            + Holding.user(lease)
                            + "'s; only "
                            + Holding.user(lease)
                            + " and root may release it by force, ask one of them");
        }
    }

    /** {@code alice (uid 1000) as root}. */
    private String who() {
        Owner caller = Caller.owner(request);
        String name = Quote.shown(caller.name());
        String uid = "uid " + Integer.toUnsignedString(caller.uid());
        boolean asRoot = request.peer().uid() == 0 && caller.uid() != 0;
        return (name.equals(uid) ? uid : name + " (" + uid + ")") + (asRoot ? " as root" : "");
    }
}
