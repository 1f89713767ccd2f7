package jnvdocker.tests.world;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Two hosts that form a swarm, as far as one machine can be two. Each has a network and a host name
 * of its own, an engine with our OCI runtime as its default, a daemon, and GPUs that the other has
 * not: on one machine, each daemon sees the processes of both. A cable connects them.
 */
public final class TestSwarm implements AutoCloseable {
    /** How many GPUs each host has. */
    public static final int GPUS = 4;

    private static final String CABLE = "cable";
    private static final DriverRoot.Release DRIVER = DriverRoot.Release.DRIVER_535;

    private final List<Node> nodes;

    /** A host, and the process that its namespaces live by. */
    public static final class Node implements AutoCloseable {
        private final String name;
        private final Process namespaces;
        private final Lab lab;
        private final RuntimeInstallation runtime;

        private Node(String name, DriverRoot host) {
            this.name = name;
            String script =
                    "hostname " + name + "; ip link set lo up; echo up; exec sleep infinity";
            namespaces = Command.of("unshare", "--net", "--uts", "sh", "-c", script).start();
            assertEquals("up", firstLine());
            lab = new Lab(new TestEngine(TestEngine.Release.wanted(), inside()), host);
            runtime = RuntimeInstallation.of(lab, "--default", "--swarm");
        }

        private String firstLine() {
            try {
                return namespaces.inputReader().readLine();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        /** Words that have a command run with this host's network and name. */
        private List<Object> inside() {
            String of = "/proc/" + namespaces.pid() + "/ns/";
            return List.of("nsenter", "--net=" + of + "net", "--uts=" + of + "uts");
        }

        private void ip(Object... words) {
            List<Object> all = new ArrayList<>(inside());
            all.add("ip");
            all.addAll(Arrays.asList(words));
            Command.of(all.toArray()).run().ok();
        }

        public String name() {
            return name;
        }

        public Lab lab() {
            return lab;
        }

        /** Takes the cable out of this host. */
        public void unplug() {
            ip("link", "set", CABLE, "down");
        }

        public void plug() {
            ip("link", "set", CABLE, "up");
        }

        @Override
        public void close() {
            lab.close();
            runtime.close();
            namespaces.destroyForcibly();
        }
    }

    /**
     * A task of a service, as {@code docker service ps} shows it.
     *
     * @param state its first word: Running, Failed, Pending
     * @param isWanted whether Swarm wants it to run
     */
    public record Task(String node, String state, boolean isWanted, String error) {
        /** Whether it runs, and is to run. */
        public boolean runs() {
            return isWanted && state.equals("Running");
        }
    }

    public TestSwarm() {
        List<CompletableFuture<Node>> both =
                List.of(
                        CompletableFuture.supplyAsync(
                                () -> new Node("node-a", DriverRoot.make(DRIVER, GPUS)),
                                Thread::startVirtualThread),
                        CompletableFuture.supplyAsync(
                                () ->
                                        new Node(
                                                "node-b",
                                                DriverRoot.make(DRIVER, 2 * GPUS)
                                                        .withoutFirst(GPUS)),
                                Thread::startVirtualThread));
        nodes = both.stream().map(CompletableFuture::join).toList();
        connect();
    }

    private void connect() {
        Object[] link = {
            "ip",
            "link",
            "add",
            CABLE,
            "netns",
            manager().namespaces.pid(),
            "type",
            "veth",
            "peer",
            "name",
            CABLE,
            "netns",
            worker().namespaces.pid()
        };
        Command.of(link).run().ok();
        for (int i = 0; i < nodes.size(); i++) {
            nodes.get(i).ip("addr", "add", "10.77.0." + (i + 1) + "/24", "dev", CABLE);
            nodes.get(i).plug();
        }
        manager().lab.docker("swarm", "init", "--advertise-addr", "10.77.0.1").ok();
        // A node counts as down after three of these.
        manager().lab.docker("swarm", "update", "--dispatcher-heartbeat", "1s").ok();
        String token = manager().lab.docker("swarm", "join-token", "-q", "worker").ok().out();
        worker().lab.docker("swarm", "join", "--token", token.strip(), "10.77.0.1:2377").ok();
    }

    public Node manager() {
        return nodes.getFirst();
    }

    public Node worker() {
        return nodes.getLast();
    }

    public List<Node> nodes() {
        return nodes;
    }

    /** Docker, as an administrator of the swarm types it. */
    public Command.Result docker(Object... arguments) {
        return manager().lab.docker(arguments);
    }

    /**
     * Makes a service whose tasks are tried again at once.
     *
     * @param words more options, the image, and its command
     */
    public void service(String name, int gpus, Object... words) {
        List<Object> all =
                new ArrayList<>(
                        List.of(
                                "service",
                                "create",
                                "-d",
                                "--name=" + name,
                                "--generic-resource=NVIDIA-GPU=" + gpus,
                                "--network=host",
                                "--no-resolve-image",
                                "--stop-signal=KILL",
                                "--restart-delay=200ms"));
        all.addAll(Arrays.asList(words));
        docker(all.toArray()).ok();
    }

    /** The tasks of a service, the newest of each replica first; of ended ones the last few. */
    public List<Task> tasks(String service) {
        String format = "{{.Node}}\t{{.CurrentState}}\t{{.DesiredState}}\t{{.Error}}";
        return docker("service", "ps", "--no-trunc", "--format", format, service)
                .ok()
                .out()
                .lines()
                .map(line -> line.split("\t", -1))
                .map(parts ->
                        new Task(
                                parts[0],
                                parts[1].split(" ")[0],
                                parts[2].equals("Running"),
                                parts[3]))
                .toList();
    }

    /** Waits until so many tasks of a service run on these hosts, in this order, and no others. */
    public void awaitTasks(String service, int onManager, int onWorker) {
        Lab.await(() -> {
            List<Task> tasks = tasks(service);
            boolean so =
                    count(tasks, manager()) == onManager
                            && count(tasks, worker()) == onWorker
                            && tasks.stream().filter(Task::isWanted).count()
                                    == onManager + onWorker;
            // A service that was just made has no task yet.
            return so ? List.of() : List.of("the tasks are " + tasks);
        });
    }

    private static long count(List<Task> tasks, Node node) {
        return tasks.stream().filter(task -> task.runs() && task.node().equals(node.name)).count();
    }

    /** The names of the containers that hold GPUs, of all hosts. */
    public List<String> holders() {
        return nodes.stream()
                .flatMap(node -> node.lab.registry().holders().values().stream())
                .toList();
    }

    @Override
    public void close() {
        nodes.parallelStream().forEach(Node::close);
    }
}
