package jnvdocker.tests.bench;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.TestEngine;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Docker's own end-to-end tests of its client, with docker and with jnvdocker in docker's place, on
 * the same engine: the outcomes are compared. Nothing is fetched: what needs docker's registries
 * fails with both.
 */
public final class DockerSuite {
    private static final List<String> PACKAGES =
            List.of("cli-plugins", "container", "context", "global", "image", "stack", "system");

    /** Directories of the sources with the plugins that the tests of cli-plugins run. */
    private static final List<String> PLUGINS =
            List.of("cli-plugins/examples", "e2e/cli-plugins/plugins");

    /** The images of the suite, which are made here. */
    private static final List<String> IMAGES =
            List.of("registry:5000/alpine:frozen", "registry:5000/busybox:frozen");

    private static final Pattern OUTCOME =
            Pattern.compile(" *--- (?<outcome>PASS|FAIL|SKIP): (?<test>\\S+) \\(.*\\)");

    private final Lab lab;
    private final Path directory;
    private final Path sources;

    private DockerSuite(Lab lab, Path directory) {
        this.lab = lab;
        this.directory = directory;
        this.sources = directory.resolve("src/github.com/docker/cli");
    }

    /**
     * @param arguments the path of a checkout of docker's client, which the installed Go can build
     */
    public static void main(String[] arguments) throws IOException {
        Path directory = Directories.make("suite");
        Outcomes outcomes;
        try (Lab lab = new Lab(TestEngine.Release.wanted())) {
            DockerSuite suite = new DockerSuite(lab, directory);
            suite.prepare(Path.of(arguments[0]));
            outcomes = suite.compare();
        } finally {
            Directories.remove(directory);
        }
        System.exit(outcomes.different() == 0 ? 0 : 1);
    }

    private void prepare(Path checkout) throws IOException {
        Files.createDirectories(sources.getParent());
        Command.of("cp", "-a", checkout, sources).run().ok();
        for (String image : IMAGES) {
            lab.engine().image(image, "--small");
        }
        for (String plugins : PLUGINS) {
            try (Stream<Path> all = Files.list(sources.resolve(plugins))) {
                for (Path plugin : all.toList()) {
                    String program = "plugins/docker-" + plugin.getFileName();
                    go("build", program, sources.relativize(plugin));
                }
            }
        }
        Path links = Files.createDirectory(directory.resolve("bin"));
        Files.createSymbolicLink(links.resolve("docker"), Project.tree().resolve("bin/jnvdocker"));
    }

    private Outcomes compare() {
        Outcomes outcomes = new Outcomes();
        for (String name : PACKAGES) {
            go("test", name + ".test", "e2e/" + name);
            String path = System.getenv("PATH");
            outcomes.compare(
                    name,
                    run(name, lab.engine().docker(), path),
                    run(name, lab.daemon().jnvdocker(), directory.resolve("bin") + ":" + path));
        }
        System.out.println("docker " + lab.engine().version() + ": " + outcomes);
        return outcomes;
    }

    /**
     * @param program below the suite's directory
     * @param from the path of a package, below the sources
     */
    private void go(String verb, String program, Object from) {
        List<Object> words = new ArrayList<>(List.of("go", verb));
        if (verb.equals("test")) {
            words.add("-c");
        }
        words.addAll(List.of("-o", directory.resolve(program), "./" + from));
        Command.of(words.toArray())
                .with("GOPATH", directory)
                .with("GO111MODULE", "off")
                .with("GOCACHE", directory.resolve("cache"))
                .in(sources)
                .run()
                .ok();
    }

    /**
     * @param client whose environment the tests have
     * @param path with the client first
     */
    private Map<String, String> run(String name, Command client, String path) {
        Command.Result result =
                client.after("sh", "-c", "exec \"$SUITE\" -test.v -test.timeout=280s")
                        .with("SUITE", directory.resolve(name + ".test"))
                        .with("DOCKER_CLI_E2E_PLUGINS_EXTRA_DIRS", directory.resolve("plugins"))
                        .with("TEST_DOCKER_HOST", lab.engine().url())
                        .with("HOME", directory)
                        .with("PATH", path)
                        .in(sources.resolve("e2e/" + name))
                        .run();
        Map<String, String> outcomes = Outcomes.read(result, OUTCOME);
        lab.engine().removeContainers();
        return outcomes;
    }
}
