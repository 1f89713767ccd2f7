package jnvdocker.tests.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.tests.world.CProgram;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.MesosAgent;
import jnvdocker.tests.world.MesosContainer;
import jnvdocker.tests.world.MesosTask;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.TestDaemon;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The time that our hook adds to a launch by a Mesos agent: the agent's helper is run directly and
 * through the hook in turn. The helper ends at once, so that only our share is measured. Each pair
 * includes the commands that the helper would run before it enters the container, and the second
 * call of a command task.
 */
public final class MesosBench {
    private static final int GPUS = 8;
    private static final int PAIRS = 200;
    private static final int WARM_UP = 30;
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Enters a mount namespace in which the container's root has its own /dev. */
    private static final String ENTER =
            "mount --make-rslave / && mount -t tmpfs dev \"$0/dev\" && eval \"$1\"";

    private final TestDaemon daemon;
    private final MesosAgent agent;
    private final Path times;
    private final Path program;
    private final Path helper;

    private MesosBench(TestDaemon daemon, MesosAgent agent) throws IOException {
        this.daemon = daemon;
        this.agent = agent;
        times = agent.directory().resolve("times");
        program = agent.directory().resolve("timecall");
        helper = agent.directory().resolve("quick-helper");
        CProgram.put("timecall", program);
        Files.createLink(helper, program);
        agent.launcher()
                .settle(
                        Project.tree().resolve("lib/mesos/mesos-containerizer"),
                        bytes(helper),
                        bytes(agent.launcher().prestart()),
                        bytes(daemon.socket()));
    }

    private static byte[] bytes(Path path) {
        return path.toString().getBytes(StandardCharsets.UTF_8);
    }

    public static void main(String[] arguments) throws IOException {
        int pairs = arguments.length == 0 ? PAIRS : Integer.parseInt(arguments[0]);
        try (DriverRoot host = DriverRoot.make(DriverRoot.Release.DRIVER_535, GPUS);
                TestDaemon daemon = new TestDaemon(host)) {
            daemon.jnvdocker("gpu", "ls").run().ok();
            try (MesosAgent agent = new MesosAgent(daemon.socket())) {
                MesosBench bench = new MesosBench(daemon, agent);
                bench.measure(pairs, "a task with a GPU", MesosTask.of("").gpus(1).needsDriver());
                bench.measure(pairs, "a task without GPUs", MesosTask.of(""));
            }
        }
    }

    private void measure(int pairs, String what, MesosTask task) throws IOException {
        measure(WARM_UP, task);
        Times times = measure(pairs, task);
        System.out.println(what);
        System.out.println("  the helper alone         " + times.direct);
        System.out.println("  through the hook         " + times.ours);
        System.out.println("  difference               " + times.added);
        System.out.println("  prestart                 " + times.prestart);
        System.out.println("  executor's call, direct  " + times.executorDirect);
        System.out.println("  through the hook         " + times.executorOurs);
        System.out.println("  difference               " + times.executorAdded);
        System.out.println("  added in all             " + times.sum);
    }

    private Times measure(int pairs, MesosTask task) throws IOException {
        Times times = new Times(pairs);
        for (int i = 0; i < pairs; i++) {
            launch(task, i % 2 == 0, times);
        }
        return times;
    }

    private static final class Times {
        private final Samples direct;
        private final Samples ours;
        private final Samples added;
        private final Samples prestart;
        private final Samples executorDirect;
        private final Samples executorOurs;
        private final Samples executorAdded;
        private final Samples sum;

        Times(int pairs) {
            direct = new Samples(pairs);
            ours = new Samples(pairs);
            added = new Samples(pairs);
            prestart = new Samples(pairs);
            executorDirect = new Samples(pairs);
            executorOurs = new Samples(pairs);
            executorAdded = new Samples(pairs);
            sum = new Samples(pairs);
        }

        /**
         * @param durations of the launches with the hook and directly, in the order run; of the
         *     command before the container is entered, if any; and of the executor's calls in the
         *     same order
         */
        void add(List<Long> durations, boolean oursFirst) {
            List<Long> rest = durations.subList(2, durations.size());
            long prepared = rest.size() == 3 ? rest.getFirst() : 0;
            rest = rest.subList(rest.size() - 2, rest.size());
            int first = oursFirst ? 0 : 1;
            ours.add(durations.get(first));
            direct.add(durations.get(1 - first));
            long of = durations.get(first) - durations.get(1 - first);
            added.add(of);
            prestart.add(prepared);
            executorOurs.add(rest.get(first));
            executorDirect.add(rest.get(1 - first));
            long ofExecutor = rest.get(first) - rest.get(1 - first);
            executorAdded.add(ofExecutor);
            sum.add(of + prepared + ofExecutor);
        }
    }

    /**
     * Measures one launch of either kind and its later calls. The claim has ended before the next.
     */
    private void launch(MesosTask task, boolean oursFirst, Times into) throws IOException {
        Path hook = agent.launcher().containerizer();
        List<Path> programs = oursFirst ? List.of(hook, helper) : List.of(helper, hook);
        MesosContainer container = agent.prepare(task);
        List<Path> cgroups = List.of(container.cgroup("freezer"), container.cgroup("devices"));
        for (Path cgroup : cgroups) {
            Files.createDirectories(cgroup);
        }
        Files.deleteIfExists(times);
        JsonNode plan = null;
        for (Path program : programs) {
            Command.Result result = launch(container, timed(cgroups, program, "launch"));
            plan = program.equals(hook) ? JSON.readTree(result.out()) : plan;
        }
        enter(container, cgroups, plan, programs);
        into.add(Files.readAllLines(times).stream().map(Long::valueOf).toList(), oursFirst);
        for (Path cgroup : cgroups) {
            Files.delete(cgroup);
        }
        daemon.jnvdocker("gpu", "leases").run().ok();
    }

    private static Command.Result launch(MesosContainer container, List<String> words)
            throws IOException {
        Path runtime = container.runtime();
        return Command.of(words.toArray())
                .with("MESOS_CONTAINERIZER_RUNTIME_DIRECTORY", runtime)
                .with(
                        "MESOS_CONTAINERIZER_LAUNCH_INFO",
                        Files.readString(runtime.resolve("launch_info")))
                .run()
                .ok();
    }

    private void enter(
            MesosContainer container, List<Path> cgroups, JsonNode plan, List<Path> programs)
            throws IOException {
        Path rootfs = agent.directory().resolve("rootfs").resolve(container.id());
        Files.createDirectories(rootfs.resolve("dev"));
        List<String> calls = new ArrayList<>();
        for (JsonNode command : plan.path("pre_exec_commands")) {
            List<String> words = new ArrayList<>();
            words.add(command.path("value").asText());
            command.path("arguments").forEach(word -> words.add(word.asText()));
            words.remove(1); // the program's own name, which may differ from its path
            calls.add(quoted(timed(cgroups, words.removeFirst(), words.toArray())));
        }
        String info = Files.readString(container.runtime().resolve("launch_info"));
        for (Path program : programs) {
            calls.add(quoted(timed(cgroups, program, "launch", "--launch_info=" + info)));
        }
        String all = String.join(" && ", calls);
        Command.of("unshare", "-m", "sh", "-c", ENTER, rootfs, all).run().ok();
    }

    private List<String> timed(List<Path> cgroups, Object called, Object... arguments) {
        String directories = cgroups.stream().map(Path::toString).collect(Collectors.joining(","));
        List<String> words = new ArrayList<>(List.of(program.toString(), times.toString()));
        words.add(directories);
        words.add(called.toString());
        Stream.of(arguments).map(Object::toString).forEach(words::add);
        return words;
    }

    private static String quoted(List<String> words) {
        return words.stream()
                .map(word -> "'" + word.replace("'", "'\\''") + "'")
                .collect(Collectors.joining(" "));
    }
}
