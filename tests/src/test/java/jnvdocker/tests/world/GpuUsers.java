package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The processes that may use GPUs, as the kernel knows them and no daemon of ours: by the rules of
 * their device cgroups (version 1), and where these allow everything, as for programs of the host,
 * by {@code CUDA_VISIBLE_DEVICES}. Processes with a variable {@code TASK} count.
 */
public final class GpuUsers {
    private static final Path CGROUPS = Path.of("/sys/fs/cgroup/devices");
    private static final Pattern RULE = Pattern.compile("c 195:([0-9]{1,2}) rwm?");
    private static final Pattern UUID = Pattern.compile("GPU-5c1a([0-9])");

    /** A flag of /proc/PID/stat, of the kernel's include/linux/sched.h. */
    private static final long PF_EXITING = 0x4;

    private final Map<String, Set<Integer>> seen = new HashMap<>();

    /**
     * A process, and the task that it is of.
     *
     * @param group its device cgroup: a task that is tried again has another container
     */
    private record User(String task, String group, long pid, String started) {
        String holder() {
            return task + " in " + group;
        }

        /** Whether it has not ended yet. */
        boolean lives() {
            return stat(pid).filter(it -> it.equals(started)).isPresent();
        }
    }

    /**
     * Scans all processes. Returns the GPUs, by the numbers of their nodes, that processes of two
     * holders could use at the end of the scan.
     */
    public List<String> together() {
        Map<Integer, List<User>> users = new TreeMap<>();
        try (Stream<Path> processes = Files.list(Path.of("/proc"))) {
            for (Path process : processes.toList()) {
                String name = process.getFileName().toString();
                if (name.matches("[0-9]+")) {
                    add(process, Long.parseLong(name), users);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        List<String> wrong = new ArrayList<>();
        users.forEach((gpu, all) -> {
            Set<String> holders =
                    all.stream()
                            .filter(User::lives)
                            .map(User::holder)
                            .collect(Collectors.toCollection(TreeSet::new));
            if (holders.size() > 1) {
                wrong.add("GPU " + gpu + ": " + String.join(" and ", holders));
            }
        });
        return wrong;
    }

    /** The tasks that were seen with GPUs so far, and the most that each had. */
    public Map<String, Integer> seen() {
        return seen.entrySet().stream()
                .collect(Collectors.toMap(Map.Entry::getKey, it -> it.getValue().size()));
    }

    private void add(Path process, long pid, Map<Integer, List<User>> users) {
        try {
            Optional<String> started = stat(pid);
            Map<String, String> variables = variables(process);
            String task = variables.get("TASK");
            if (started.isEmpty() || task == null) {
                return;
            }
            String group = group(process);
            Set<Integer> gpus = gpus(group, variables);
            User user = new User(task, group, pid, started.get());
            gpus.forEach(gpu -> users.computeIfAbsent(gpu, _ -> new ArrayList<>()).add(user));
            if (!gpus.isEmpty()) {
                seen.computeIfAbsent(user.holder(), _ -> new HashSet<>()).addAll(gpus);
            }
        } catch (IOException e) {
            // It has ended.
        }
    }

    private static Map<String, String> variables(Path process) throws IOException {
        Map<String, String> variables = new HashMap<>();
        for (String each : Files.readString(process.resolve("environ")).split("\0")) {
            int end = each.indexOf('=');
            if (end > 0) {
                variables.put(each.substring(0, end), each.substring(end + 1));
            }
        }
        return variables;
    }

    private static String group(Path process) throws IOException {
        return Files.readAllLines(process.resolve("cgroup")).stream()
                .map(line -> line.split(":", 3))
                .filter(parts -> List.of(parts[1].split(",")).contains("devices"))
                .map(parts -> parts[2])
                .findFirst()
                .orElseThrow(() -> new AssertionError("there is no device cgroup of version 1"));
    }

    private static Set<Integer> gpus(String group, Map<String, String> variables)
            throws IOException {
        String rules =
                Files.readString(CGROUPS.resolve(group.substring(1)).resolve("devices.list"));
        return rules.startsWith("a ")
                ? numbers(UUID, variables.getOrDefault("CUDA_VISIBLE_DEVICES", ""))
                : numbers(RULE, rules);
    }

    private static Set<Integer> numbers(Pattern pattern, String text) {
        Set<Integer> numbers = new HashSet<>();
        Matcher found = pattern.matcher(text);
        while (found.find()) {
            numbers.add(Integer.parseInt(found.group(1)));
        }
        return numbers;
    }

    /**
     * When a process started; empty if it has ended, even if its parent does not know yet, or ends:
     * the kernel shows a process that ends in the root of each hierarchy of version 1, while its
     * variables can still be read.
     */
    private static Optional<String> stat(long pid) {
        try {
            String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            boolean ends = (Long.parseLong(fields[6]) & PF_EXITING) != 0;
            return ends || "ZX".contains(fields[0]) ? Optional.empty() : Optional.of(fields[19]);
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
