package jnvdocker.grant;

import jnvdocker.lease.Claim;
import jnvdocker.lease.Quota;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.QuotaText;
import jnvdocker.words.RefusedException;

import java.util.function.Predicate;
import java.util.regex.Pattern;

/**
 * Explains to the user of a stopped container, which was given the nodes of its own GPUs, how to
 * make it again with others.
 */
final class RemakeAdvice {
    /** The names that docker allows; no character of them is special in a shell. */
    private static final Predicate<String> NAME =
            Pattern.compile("[a-zA-Z0-9][a-zA-Z0-9_.-]*").asMatchPredicate();

    private RemakeAdvice() {}

    /** The end of a refusal's advice. */
    static String of(Claim claim) {
        return ", or make it again on other GPUs: " + command(claim);
    }

    /** The command that makes a claim's container again. */
    static String command(Claim claim) {
        return "jnvdocker gpu remake "
                + claim.container().map(Claim.ContainerRef::name).filter(NAME).orElse("CONTAINER");
    }

    /** Why the limits of the configuration allow a container no new lease, and what to do. */
    static RefusedException refusal(Claim claim, Quota.Excess excess) {
        String has =
                "this container has "
                        + claim.gpus().size()
                        + (claim.gpus().size() == 1 ? " GPU" : " GPUs")
                        + ", and ";
        return switch (excess) {
            case Quota.TooMany many ->
                    new RefusedException(
                            QuotaText.why(many),
                            "stop one of them, then start this container again");
            case Quota.NoHours spent ->
                    new RefusedException(
                            QuotaText.why(spent), "start this container again after that");
            case Quota.Never never when never.limit().limit() > 0 ->
                    new RefusedException(
                            has + QuotaText.why(never),
                            "make it again with fewer: "
                                    + command(claim)
                                    + " --gpus "
                                    + never.limit().limit());
            case Quota.Elsewhere elsewhere ->
                    new RefusedException(
                            "this container has "
                                    + LeaseText.names(claim.gpus())
                                    + ", and "
                                    + QuotaText.why(elsewhere),
                            "make it again on one of these: " + command(claim));
            case Quota.ForGood ever ->
                    new RefusedException(has + QuotaText.why(ever), QuotaText.remedy(ever));
        };
    }
}
