package jnvdocker.tests.bench;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Folders;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.RuntimeInstallation;
import jnvdocker.tests.world.TestEngine;

import java.nio.file.Path;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * The integration tests of docker's SDK for Python, with a plain engine and with one whose default
 * runtime is ours: the outcomes are compared. Nothing is fetched: what needs docker's registries
 * fails with both.
 */
public final class PythonSuite {
    private static final Pattern OUTCOME =
            Pattern.compile(
                    "(?m)^(?<outcome>PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (?<test>\\S+)");

    private final Lab lab;
    private final Path sources;

    private PythonSuite(Lab lab, Path sources) {
        this.lab = lab;
        this.sources = sources;
    }

    /**
     * @param arguments the path of a checkout of docker's SDK
     */
    public static void main(String[] arguments) {
        Path folder = Folders.make("suite");
        Outcomes outcomes = new Outcomes();
        try (Lab lab = new Lab(TestEngine.Release.wanted())) {
            Path sources = folder.resolve("sdk");
            Command.of("cp", "-a", arguments[0], sources).run().ok();
            lab.engine().image("alpine:3.10", "--small");
            PythonSuite suite = new PythonSuite(lab, sources);
            Map<String, String> plain = suite.run();
            try (RuntimeInstallation _ = RuntimeInstallation.of(lab, "--default")) {
                outcomes.compare("sdk", plain, suite.run());
            }
            System.out.println("docker " + lab.engine().version() + ": " + outcomes);
        } finally {
            Folders.remove(folder);
        }
        System.exit(outcomes.different() == 0 ? 0 : 1);
    }

    private Map<String, String> run() {
        Command.Result result =
                Command.of("timeout", "540", "python3", "-m", "pytest", "-rA", "tests/integration")
                        .with("DOCKER_HOST", lab.engine().url())
                        .with("PYTHONPATH", sources + ":" + System.getenv("PYTHONPATH"))
                        .in(sources)
                        .run();
        Map<String, String> outcomes = Outcomes.read(result, OUTCOME);
        lab.engine().removeContainers();
        return outcomes;
    }
}
