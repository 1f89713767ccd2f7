package jnvdocker.tests;

import jnvdocker.tests.world.Command;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The options that a docker client lists, each with a value that it accepts. */
final class OptionSamples {
    /** {@code -e, --env list Set environment variables}, or {@code --rm Automatically …}. */
    private static final Pattern LINE =
            Pattern.compile(" {2,6}(?:-(\\w), )?--([\\w-]+)(?: (\\S+))? {2,}.*");

    private static final Pattern WORD = Pattern.compile("\\s*((?:[^\\s']|'[^']*')+)");

    /** Values of options that do not accept an arbitrary word. */
    private static final Map<String, String> VALUES =
            Map.ofEntries(
                    Map.entry("add-host", "box:1.2.3.4"),
                    Map.entry("attach", "stdout"),
                    Map.entry("blkio-weight", "100"),
                    Map.entry("blkio-weight-device", "/dev/null:100"),
                    Map.entry("cgroupns", "private"),
                    Map.entry("cpus", "1.5"),
                    Map.entry("detach-keys", "ctrl-a"),
                    Map.entry("device", "/dev/null:/dev/x:rw"),
                    Map.entry("device-cgroup-rule", "c 1:3 r"),
                    Map.entry("device-read-bps", "/dev/null:1mb"),
                    Map.entry("device-read-iops", "/dev/null:10"),
                    Map.entry("device-write-bps", "/dev/null:1mb"),
                    Map.entry("device-write-iops", "/dev/null:10"),
                    Map.entry("dns", "1.2.3.4"),
                    Map.entry("env-file", "env"),
                    Map.entry("expose", "80"),
                    Map.entry("gpus", "2"),
                    Map.entry("health-interval", "10s"),
                    Map.entry("health-start-interval", "10s"),
                    Map.entry("health-start-period", "10s"),
                    Map.entry("health-timeout", "10s"),
                    Map.entry("io-maxbandwidth", "1m"),
                    Map.entry("ip", "1.2.3.4"),
                    Map.entry("ip6", "fe80::1"),
                    Map.entry("ipc", "private"),
                    Map.entry("kernel-memory", "64m"),
                    Map.entry("label-file", "labels"),
                    Map.entry("link", "box:alias"),
                    Map.entry("link-local-ip", "169.254.1.1"),
                    Map.entry("mac-address", "92:d0:c6:0a:29:33"),
                    Map.entry("memory", "64m"),
                    Map.entry("memory-reservation", "64m"),
                    Map.entry("memory-swap", "64m"),
                    Map.entry("mount", "type=tmpfs,dst=/t"),
                    Map.entry("network", "host"),
                    Map.entry("pid", "host"),
                    Map.entry("platform", "linux/amd64"),
                    Map.entry("publish", "80:80"),
                    Map.entry("pull", "never"),
                    Map.entry("restart", "always"),
                    Map.entry("runtime", "runc"),
                    Map.entry("security-opt", "seccomp=seccomp.json"),
                    Map.entry("shm-size", "64m"),
                    Map.entry("storage-opt", "size=1g"),
                    Map.entry("sysctl", "net.x=1"),
                    Map.entry("tmpfs", "/t:size=1m"),
                    Map.entry("ulimit", "nofile=10:20"),
                    Map.entry("userns", "host"),
                    Map.entry("uts", "host"),
                    Map.entry("volume", "/a:/b:ro"),
                    Map.entry("workdir", "/w"));

    private OptionSamples() {}

    /**
     * @param letter its short name, or empty
     * @param value a value that it accepts, empty for an option without one
     */
    record Option(String name, String letter, String value) {
        /** The spellings, the plainest first. */
        List<List<String>> spellings() {
            List<List<String>> all = new ArrayList<>();
            String full = "--" + name;
            if (value.isEmpty()) {
                all.add(List.of(full));
                all.add(List.of(full + "=true"));
                // With signature checks left on, docker would request the signatures from a server.
                if (!name.equals("disable-content-trust")) {
                    all.add(List.of(full + "=false"));
                }
                if (!letter.isEmpty()) {
                    all.add(List.of("-" + letter));
                    all.add(List.of("-" + letter + "iv/a:/b"));
                }
                return all;
            }
            all.add(List.of(full, value));
            all.add(List.of(full + "=" + value));
            if (!letter.isEmpty()) {
                all.add(List.of("-" + letter, value));
                all.add(List.of("-" + letter + value));
                all.add(List.of("-" + letter + "=" + value));
                all.add(List.of("-i" + letter + value));
            }
            return all;
        }
    }

    /** The options in the client's help of a verb, without those that apply to no container. */
    static List<Option> listed(Path client, String verb) {
        return Command.of(client, verb, "--help")
                .run()
                .ok()
                .out()
                .lines()
                .map(LINE::matcher)
                .filter(Matcher::matches)
                .map(OptionSamples::option)
                .flatMap(Stream::ofNullable)
                .toList();
    }

    private static Option option(Matcher line) {
        String name = line.group(2);
        String letter = line.group(1) == null ? "" : line.group(1);
        boolean takesNone = line.group(3) == null;
        return switch (name) {
            // help requests no container, and privileged containers are refused GPUs.
            case "help", "privileged" -> null;
            default -> new Option(name, letter, takesNone ? "" : VALUES.getOrDefault(name, "1"));
        };
    }

    /** Splits at blanks; {@code '…'} is one word, in which {@code \n} is a line break. */
    static List<String> words(String line) {
        List<String> words = new ArrayList<>();
        Matcher word = WORD.matcher(line);
        while (word.lookingAt()) {
            words.add(word.group(1).replace("'", "").translateEscapes());
            word.region(word.end(), line.length());
        }
        return words;
    }
}
