package jnvdocker.grant;

import jnvdocker.lease.Claim;

import java.util.Locale;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/**
 * Tells the user of a stopped container, which was given the nodes of its own GPUs, how to make it
 * again with others. The container is removed last, so that a step that fails loses nothing.
 */
final class RemakeAdvice {
    /** What docker takes for a container's name; none of it means anything to a shell. */
    private static final Predicate<String> NAME =
            Pattern.compile("[a-zA-Z0-9][a-zA-Z0-9_.-]*").asMatchPredicate();

    private static final Pattern NOT_OF_AN_IMAGE = Pattern.compile("[^a-z0-9]+");

    private RemakeAdvice() {}

    /** The end of a refusal's advice, with the commands if the container's name is known. */
    static String of(Claim claim) {
        Optional<String> name =
                claim.container().map(Claim.ContainerRef::name).filter(it -> NAME.test(it));
        String commands =
                name.map(it -> commands(it, claim.gpus().size()))
                        .orElse("docker commit makes an image of it for 'jnvdocker run'");
        return " (docker export copies files out of it meanwhile), or make it again on other GPUs,"
                + " with the options that it had: "
                + commands
                + " (containers of our OCI runtime get free GPUs at each start: jnvdocker runtime"
                + " install)";
    }

    private static String commands(String name, int gpus) {
        return ("docker commit %1$s %2$s && jnvdocker run -d --name %1$s-new --gpus %3$d %2$s"
                        + " && docker rm %1$s && docker rename %1$s-new %1$s")
                .formatted(name, image(name), gpus);
    }

    /** A name for the image: a container's may have capital letters, or end in a dash. */
    private static String image(String name) {
        String words = NOT_OF_AN_IMAGE.matcher(name.toLowerCase(Locale.ROOT)).replaceAll("-");
        return words + (words.endsWith("-") ? "saved" : "-saved");
    }
}
