package jnvdocker.grant;

import jnvdocker.lease.Claim;

import java.util.function.Predicate;
import java.util.regex.Pattern;

/**
 * Tells the user of a stopped container, which was given the nodes of its own GPUs, how to make it
 * again with others.
 */
final class RemakeAdvice {
    /** What docker takes for a container's name; none of it means anything to a shell. */
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
}
