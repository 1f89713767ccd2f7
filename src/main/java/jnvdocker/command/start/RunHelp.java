package jnvdocker.command.start;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The help on the options that jnvdocker adds to docker's {@code run} and {@code create}. */
public final class RunHelp {
    /** The text after docker's own help. */
    public static final String TEXT =
            """

            jnvdocker adds:
                  --gpus all|none|N|device=IDS   N free GPUs, or certain ones by index, UUID (or its
                                                 beginning) or PCI address. N of a kind:
                                                 count=N,memory=40G,model=A100. Those of another
                                                 container of yours: with=NAME. A part of the
                                                 memory of one that may be shared, accounted and
                                                 not enforced: share=10G
                  --gpu-wait[=DURATION]          Wait for GPUs that are held by others. This command
                                                 loses its place in the queue when it ends, or its
                                                 terminal hangs up: keep it in tmux or under nohup
                  --gpu-time DURATION            How long the GPUs are wanted (90s, 30m, 1d12h): shown
                                                 to others, and overdue afterwards

            Environment: NV_GPU chooses the GPUs of images that need some, like --gpus;
            NV_GPU_WAIT is like --gpu-wait.
            """;

    private static final Pattern OPTION =
            Pattern.compile(" {6}(--[a-z-]+)(?:\\[\\S*| \\S+)? {2,}(.*)");

    private RunHelp() {}

    /** The options that jnvdocker adds to docker's, with descriptions, in the order of the help. */
    public static Map<String, String> options() {
        Map<String, String> options = new LinkedHashMap<>();
        String last = "";
        for (String line : TEXT.lines().takeWhile(it -> !it.startsWith("Env")).toList()) {
            Matcher option = OPTION.matcher(line);
            if (option.matches()) {
                last = option.group(1);
            }
            if (!last.isEmpty()) {
                String more = option.matches() ? option.group(2) : line;
                options.merge(last, more.strip(), (text, rest) -> (text + " " + rest).strip());
            }
        }
        return options;
    }
}
