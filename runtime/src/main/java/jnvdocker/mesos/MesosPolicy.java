package jnvdocker.mesos;

import jnvdocker.container.GpuResolver;
import jnvdocker.host.Gpu;
import jnvdocker.labels.Quote;

import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What the lab gives Mesos tasks.
 *
 * @param gpus ids of the only GPUs that they get, as {@code --gpus} spells them; empty when any
 * @param patience how long a task waits for GPUs that are about to be free
 */
public record MesosPolicy(List<String> gpus, Duration patience) {
    /** Well below the agent's default for an executor to register, which is a minute. */
    public static final Duration WAIT = Duration.ofSeconds(30);

    /** An agent may give its executors longer than a minute; nobody gives them more than this. */
    private static final Duration LONGEST = Duration.ofHours(1);

    private static final Pattern FORM = Pattern.compile("([0-9]{1,5})([smh])");

    public MesosPolicy {
        gpus = List.copyOf(gpus);
    }

    /** Any GPU, after the usual wait. */
    public static MesosPolicy standard() {
        return new MesosPolicy(List.of(), WAIT);
    }

    /** Whether tasks may get this GPU: a beginning that several UUIDs have means each of them. */
    public boolean gives(Gpu gpu) {
        return gpus.isEmpty() || gpus.stream().anyMatch(id -> GpuResolver.means(id, gpu));
    }

    /** Ids that none of these GPUs has. */
    public List<String> givesNothing(List<Gpu> host) {
        return gpus.stream()
                .filter(id -> host.stream().noneMatch(gpu -> GpuResolver.means(id, gpu)))
                .toList();
    }

    /**
     * A wait as people write it, {@code 30s}, {@code 2m}.
     *
     * @return at most an hour; nothing has tasks refused at once
     * @throws IllegalArgumentException quoting the text, and saying what would do
     */
    public static Duration parseWait(String text) {
        Matcher form = FORM.matcher(text);
        if (form.matches()) {
            int number = Integer.parseInt(form.group(1));
            Duration wait =
                    switch (form.group(2)) {
                        case "s" -> Duration.ofSeconds(number);
                        case "m" -> Duration.ofMinutes(number);
                        default -> Duration.ofHours(number);
                    };
            if (wait.compareTo(LONGEST) <= 0) {
                return wait;
            }
        }
        throw new IllegalArgumentException(
                Quote.quoted(text) + " is no time from 0s to 1h; write a number with s, m or h");
    }
}
