package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.CProgram;
import jnvdocker.tests.world.Client;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.RuntimeInstallation;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Clients of an engine that know nothing of jnvdocker, each used as its manual says: two that
 * request two of four GPUs get different ones, and the refusal of a third names their holders. With
 * {@code ENGINE=DEBIAN_STABLE} the engine is the installed one.
 */
class RuntimeClientsTest extends RuntimeEngineTest {
    /**
     * A service that both releases of compose can read; its container's name begins with the
     * project's.
     */
    private static final String SERVICE =
            """
            version: "3.8"
            services:
              train:
                image: plain
                command: sleep 1000
                stop_signal: KILL
                network_mode: none
            """;

    /** As an administrator has it who gives no option. */
    @BeforeAll
    static void install() {
        runtime = RuntimeInstallation.of(lab, "--default");
        directory = Directories.make("r");
    }

    private static final String DEVICES =
            "    deploy: {resources: {reservations: {devices: [{%scapabilities: [gpu]}]}}}\n";

    /**
     * Waits until containers with these name prefixes, and no others, hold these numbers of GPUs.
     */
    private static void awaitNumbers(Map<String, Integer> numbers) {
        Lab.await(() -> {
            Map<String, Integer> now = new TreeMap<>();
            lab.registry()
                    .holders()
                    .values()
                    .forEach(name -> now.merge(name.split("[_-]")[0], 1, Integer::sum));
            return now.equals(new TreeMap<>(numbers))
                    ? List.of()
                    : List.of("should be " + numbers + " and are " + now);
        });
    }

    private static Command.Result up(Client compose, String project, String gpus)
            throws IOException {
        Path file = directory.resolve(compose + "-" + project + ".yml");
        Files.writeString(file, SERVICE + gpus);
        return compose.command(lab, "-p", project, "-f", file, "up", "-d").in(directory).run();
    }

    private static final Path EXAMPLES = Project.root().resolve("src/dist/examples");

    /** An example's service with an image of ours. */
    private static Command.Result upExample(Client compose, String project, String service)
            throws IOException {
        Path override = directory.resolve("override.yml");
        Files.writeString(
                override,
                """
                services:
                  train: &ours {image: plain, command: sleep 1000, stop_signal: KILL, network_mode: none}
                  notebook: *ours
                """);
        Path example = EXAMPLES.resolve("compose/compose.yaml");
        return compose.command(
                        lab, "-p", project, "-f", example, "-f", override, "up", "-d", service)
                .in(directory)
                .run();
    }

    @ParameterizedTest
    @EnumSource(names = {"COMPOSE_1", "COMPOSE_2"})
    void composeGetsFreeOnesByADeploymentsDevices(Client compose) throws Exception {
        upExample(compose, "one", "train").ok();
        upExample(compose, "two", "train").ok();
        awaitNumbers(Map.of("one", 2, "two", 2));
        Command.Result third = upExample(compose, "three", "train");
        assertTrue(third.exitCode() != 0, third::toString);
        assertTrue(third.err().contains("'s container one"), third::toString);
        assertTrue(third.err().contains("'s container two"), third::toString);
        Command.Result certain = upExample(compose, "three", "notebook");
        assertTrue(certain.exitCode() != 0, certain::toString);
        assertTrue(certain.err().contains("GPU 0 (GPU-5c1a0000) is held by"), certain::toString);
    }

    @ParameterizedTest
    @EnumSource(names = {"COMPOSE_1", "COMPOSE_2"})
    void composeGetsCertainOnesAndAll(Client compose) throws Exception {
        up(compose, "ids", DEVICES.formatted("device_ids: ['1', '3'], ")).ok();
        up(compose, "env", "    environment: [NVIDIA_VISIBLE_DEVICES=0]\n").ok();
        awaitNumbers(Map.of("ids", 2, "env", 1));
        lab.clear();
        up(compose, "all", DEVICES.formatted("")).ok();
        awaitNumbers(Map.of("all", 4));
    }

    private static final String NODES = "ls /dev/nvidia[0-9]*";
    private static final String SECOND = "photos_machine_learning";

    /** The example's services with an image of ours, and a label of the second one. */
    private static Command.Result upOneGpu(Client compose, String label) throws IOException {
        // docker-compose 1.29 cannot make a container again.
        lab.docker("rm", "-f", SECOND);
        Path override = directory.resolve("override.yml");
        Files.writeString(
                override,
                """
                services:
                  server: &ours {image: plain, command: sleep 1000, stop_signal: KILL, network_mode: none}
                  machine-learning: {image: plain, command: sleep 1000, stop_signal: KILL,
                    network_mode: none, restart: "no", labels: {jnvdocker.gpus: "%s"}}
                """
                        .formatted(label));
        return compose.command(
                        lab,
                        "-p",
                        "photos",
                        "-f",
                        EXAMPLES.resolve("compose/one-gpu.yaml"),
                        "-f",
                        override,
                        "up",
                        "-d")
                .in(directory)
                .run();
    }

    /** Who requests another GPU learns how both services can have one. */
    @ParameterizedTest
    @EnumSource(names = {"COMPOSE_1", "COMPOSE_2"})
    void twoServicesOfAProjectHaveOneGpu(Client compose) throws Exception {
        String first = "photos_server";
        try {
            Command.Result refused = upOneGpu(compose, "all");
            assertTrue(refused.exitCode() != 0, refused::toString);
            Lab.assertMatches(
                    "(?s).*GPU [0-3] .* is held by \\S+ container photos_server since [0-9:]+; give"
                        + " this service the label jnvdocker.gpus: with=photos_server to have the"
                        + " same once an administrator has added 'directory' to trust_owner, .*",
                    refused.err());
            Lab.assertMatches(
                    "(?s).*It was refused at [0-9:]+: .*GPU [0-3] .* is held by .*photos_server.*",
                    lab.jnvdocker("gpu", "why", SECOND).ok().out());
            Command.Result unknown = upOneGpu(compose, "with=" + first);
            assertTrue(
                    unknown.exitCode() != 0
                            && unknown.err().contains("add 'directory' to trust_owner"),
                    unknown::toString);
            lab.configure("[runtime]\ntrust_owner = ['directory']\n");
            Command.Result trusted = upOneGpu(compose, "all");
            assertTrue(
                    trusted.exitCode() != 0
                            && trusted.err()
                                    .contains(
                                            "to have the same once photos_server was started"
                                                    + " again,"),
                    trusted::toString);
            Command.Result guessed = upOneGpu(compose, "with=" + first);
            assertTrue(
                    guessed.exitCode() != 0
                            && guessed.err().contains("; start photos_server again: with"),
                    guessed::toString);
            lab.docker("restart", first).ok();
            upOneGpu(compose, "with=" + first).ok();
            Lab.await(() -> {
                String now = lab.registry().holders().toString();
                return now.matches("\\{[0-3]=photos_server and photos_machine_learning}")
                        ? List.of()
                        : List.of(now);
            });
            lab.docker("restart", first, SECOND).ok();
            String nodes = lab.docker("exec", first, "sh", "-c", NODES).ok().out();
            assertEquals(1, nodes.lines().count(), nodes);
            assertEquals(nodes, lab.docker("exec", SECOND, "sh", "-c", NODES).ok().out());
        } finally {
            lab.engine().removeContainers();
            lab.configure("");
        }
    }

    /** Nothing serves Docker's API for users here. */
    @Test
    void labelThatWaitsNowhereSaysWhatWouldHaveItWait() {
        lab.run("train", 0);
        Lab.assertRefused(
                "jnvdocker: GPU 0 .* is held by root's container train since .*; its label"
                        + " jnvdocker.wait counts at /.*/docker.sock alone, which an administrator"
                        + " can have served: systemctl enable --now jnvdocker-proxy.socket",
                lab.engine()
                        .docker(
                                "run",
                                "--name=late",
                                "--gpus=device=0",
                                "--label=jnvdocker.wait=1s",
                                "plain",
                                "true"));
    }

    @Test
    void composeHasAWordForGpus() throws Exception {
        up(Client.COMPOSE_2, "every", "    gpus: all\n").ok();
        awaitNumbers(Map.of("every", 4));
    }

    @Test
    void ownerOfAProjectIsGuessedByItsDirectory() throws Exception {
        up(Client.COMPOSE_2, "one", DEVICES.formatted("count: 1, ")).ok();
        awaitNumbers(Map.of("one", 1));
        String table = lab.jnvdocker("gpu", "ls").ok().out();
        assertTrue(table.matches("(?s).* HELD +root\\? +one-train-1 .*"), table);
    }

    @Test
    void pythonGetsThemByRequestAndRuntime() {
        String script =
                """
                import docker
                client = docker.from_env()
                def run(name, **more):
                    return client.containers.run('plain', ['sleep', '1000'], name=name, detach=True,
                        runtime='nvidia', network_mode='none', stop_signal='KILL', **more)
                def gpus(count):
                    return [docker.types.DeviceRequest(count=count, capabilities=[['gpu']])]
                run('one', device_requests=gpus(2))
                run('two', environment={'JNVDOCKER_GPUS': '2'})
                try:
                    run('three', device_requests=gpus(2))
                except docker.errors.APIError as refused:
                    print(refused)
                """;
        String out = Client.DOCKER_PY.command(lab, "-c", script).run().ok().out();
        awaitNumbers(Map.of("one", 2, "two", 2));
        assertTrue(out.contains("held by somebody's container one"), out);
        Command.Result example =
                Client.DOCKER_PY
                        .command(lab, EXAMPLES.resolve("docker-py/train.py"), "plain", "true")
                        .run();
        assertEquals(1, example.exitCode(), example::toString);
        assertTrue(example.err().contains("held by somebody's container one"), example::toString);
    }

    /**
     * JupyterHub's DockerSpawner is in none of Debian's packages: these are the calls that it makes
     * of docker-py with its settings.
     */
    @Test
    void jupyterHubsServersHaveAGpuEach() {
        String script =
                """
                import collections, docker, sys, types
                settings = collections.defaultdict(dict)
                class Traits:
                    def __init__(self, name): self.__dict__['name'] = name
                    def __setattr__(self, trait, value): settings[self.name][trait] = value
                class Config:
                    JupyterHub = Traits('JupyterHub')
                    DockerSpawner = Traits('DockerSpawner')
                exec(open(sys.argv[1]).read(), {'get_config': Config})
                spawner = settings['DockerSpawner']
                client = docker.from_env().api
                for user in ['alice', 'bob']:
                    host = client.create_host_config(network_mode='none', **spawner['extra_host_config'])
                    own = types.SimpleNamespace(user=types.SimpleNamespace(name=user))
                    made = client.create_container(image='plain', command=['sleep', '1000'],
                        name=user + '-server', environment=spawner['environment'], host_config=host,
                        stop_signal='KILL', **spawner['extra_create_kwargs'](own))
                    client.start(made['Id'])
                """;
        Path config = EXAMPLES.resolve("jupyterhub/jupyterhub_config.py");
        Client.DOCKER_PY.command(lab, "-c", script, config).run().ok();
        awaitNumbers(Map.of("alice", 1, "bob", 1));
        // The host has no such users, and the label is not trusted: they are guesses.
        String leases = lab.jnvdocker("gpu", "leases").ok().out();
        assertTrue(leases.contains("alice?") && leases.contains("bob?"), leases);
    }

    /**
     * The calls that OpenStack Zun's Docker driver makes of docker-py for {@code openstack
     * appcontainer create --runtime nvidia}, with a label or a variable; its network is Neutron's.
     */
    @Test
    void zunsContainersHaveAGpuEach() {
        String script =
                """
                import docker
                client = docker.from_env().api
                def create(name, **words):
                    host = client.create_host_config(privileged=False, runtime='nvidia', binds={},
                        mem_limit='512M', cpu_shares=1024, network_mode='none',
                        restart_policy={'Name': 'no', 'MaximumRetryCount': 0})
                    made = client.create_container('plain', name=name, command=['sleep', '1000'],
                        working_dir=None, tty=False, stdin_open=False, hostname=None, entrypoint=None,
                        volumes=[], host_config=host, **words)
                    client.start(made['Id'])
                create('zunb-1', labels={}, environment={'NVIDIA_VISIBLE_DEVICES': '3'})
                create('zun-1', labels={'jnvdocker.gpus': '2'}, environment={})
                try:
                    create('zunc-1', labels={'jnvdocker.gpus': '2'}, environment={})
                except docker.errors.APIError as refused:
                    print(refused)
                """;
        String out = Client.DOCKER_PY.command(lab, "-c", script).run().ok().out();
        awaitNumbers(Map.of("zun", 2, "zunb", 1));
        assertTrue(out.contains("held by somebody's container zun"), out);
    }

    /**
     * The calls of Nomad's docker driver (2.0), for tasks with a label, with the variable that
     * Nomad's device plugin for NVIDIA sets, and with both.
     */
    @Test
    void nomadsTasksHaveTheGpusOfTheirLabelOrOfItsDevicePlugin() {
        String script =
                """
                import docker
                client = docker.from_env().api
                def start(task, labels, environment):
                    host = client.create_host_config(runtime='nvidia', binds=['/tmp:/alloc'],
                        mem_limit='256M', memswap_limit='256M', cpu_shares=100, pids_limit=-1,
                        network_mode='none', log_config={'Type': 'json-file',
                            'Config': {'max-file': '2', 'max-size': '2m'}})
                    labels['com.hashicorp.nomad.alloc_id'] = task
                    environment.update(NOMAD_ALLOC_DIR='/alloc', NOMAD_GPU_LIMIT='1')
                    made = client.create_container('plain', name=task, command=['sleep', '1000'],
                        labels=labels, environment=environment, host_config=host)
                    try:
                        client.start(made['Id'])
                    except docker.errors.APIError as refused:
                        print(refused)
                        client.remove_container(made['Id'], force=True)
                start('device', {}, {'NVIDIA_VISIBLE_DEVICES': '%1$s'})
                start('late', {}, {'NVIDIA_VISIBLE_DEVICES': '%1$s'})
                start('both', {'jnvdocker.gpus': '1'}, {'NVIDIA_VISIBLE_DEVICES': '%1$s'})
                start('label', {'jnvdocker.gpus': '2'}, {})
                """
                        .formatted(
                                lab.jnvdocker("gpu", "ls", "--json").json().at("/1/uuid").asText());
        String out = Client.DOCKER_PY.command(lab, "-c", script).run().ok().out();
        awaitNumbers(Map.of("device", 1, "both", 1, "label", 2));
        assertEquals(1, out.lines().count(), out);
        assertTrue(
                out.contains("GPU 1 (GPU-5c1a1003) is held by somebody's container device"), out);
    }

    @Test
    void containerdsOwnClientGetsFreeOnesByAnAnnotation() {
        importForCtr();
        ctrRun("-d", "one").ok();
        ctrRun("-d", "two").ok();
        try {
            awaitNumbers(Map.of("one", 2, "two", 2));
            awaitWhy("one", "To free it: ctr -n default task kill -s KILL one");
            Command.Result third = ctrRun("--rm", "three");
            assertTrue(third.exitCode() != 0, third::toString);
            assertTrue(third.err().contains("jnvdocker: 2 GPUs"), third::toString);
        } finally {
            for (String name : List.of("one", "two")) {
                ctr("task", "kill", "-s", "KILL", name);
                ctr("task", "rm", "-f", name);
                ctr("container", "rm", name);
            }
        }
        awaitNumbers(Map.of());
    }

    /** Its processes alone are seen: no engine is queried about it. */
    @Test
    void containerOfContainerdWithoutOurRuntimeIsNamed() {
        Path holdopen = directory.resolve("holdopen");
        CProgram.put("holdopen", holdopen);
        Path node = lab.host().directory().resolve("dev/nvidia1");
        importForCtr();
        ctr(
                        "run",
                        "-d",
                        "--device",
                        node,
                        "--mount",
                        "type=bind,src=" + holdopen + ",dst=/holdopen,options=rbind:ro",
                        "docker.io/library/plain:latest",
                        "open",
                        "/holdopen",
                        node)
                .ok();
        try {
            awaitWhy("1", "ctr -n default task kill -s KILL open");
            String shown = lab.jnvdocker("gpu", "ls").ok().out();
            assertTrue(shown.contains("in containerd's container open"), shown);
            ctr("-n", "default", "task", "kill", "-s", "KILL", "open").ok();
            awaitWhy("1", "is free");
        } finally {
            ctr("task", "rm", "-f", "open");
            ctr("container", "rm", "open");
        }
    }

    private static void awaitWhy(String what, String part) {
        Lab.await(() -> {
            String why = lab.jnvdocker("gpu", "why", what).out();
            return why.contains(part) ? List.of() : List.of(why);
        });
    }

    private static void importForCtr() {
        Path image = directory.resolve("for-ctr.tar");
        lab.docker("save", "-o", image, "plain").ok();
        ctr("images", "import", image).ok();
    }

    private static Command.Result ctrRun(String option, String name) {
        return ctr(
                "run",
                option,
                "--runc-binary",
                runtime.program(),
                "--annotation",
                "jnvdocker.gpus=2",
                "docker.io/library/plain:latest",
                name,
                "sleep",
                "1000");
    }

    private static Command.Result ctr(Object... words) {
        List<Object> all = new ArrayList<>(List.of("ctr", "-a", lab.engine().containerd()));
        all.addAll(Arrays.asList(words));
        return lab.engine().inside(all.toArray()).run();
    }
}
