package jnvdocker.tests.bench;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.RuntimeInstallation;
import jnvdocker.tests.world.TestEngine;

import java.nio.file.Path;
import java.util.List;
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

    /** The images of the suite, which are made here. */
    private static final List<String> IMAGES =
            List.of("alpine:3.10", "alpine:latest", "busybox:latest");

    /**
     * The first requests a runtime in a place where no engine reads it, and passes only where the
     * default is runc; the second attaches to a container that may have ended.
     */
    private static final List<String> LEFT_OUT =
            List.of("test_create_with_runtime", "test_attach_no_stream");

    private final Lab lab;
    private final Path directory;
    private final String checkout;

    private PythonSuite(Lab lab, Path directory, String checkout) {
        this.lab = lab;
        this.directory = directory;
        this.checkout = checkout;
    }

    /**
     * @param arguments the path of a checkout of docker's SDK
     */
    public static void main(String[] arguments) {
        Path directory = Directories.make("suite");
        Outcomes outcomes = new Outcomes();
        try (Lab lab = new Lab(TestEngine.Release.wanted())) {
            PythonSuite suite = new PythonSuite(lab, directory, arguments[0]);
            IMAGES.forEach(image -> lab.engine().image(image, "--small"));
            Map<String, String> plain = suite.run("plain");
            try (RuntimeInstallation _ = RuntimeInstallation.of(lab, "--default")) {
                outcomes.compare("sdk", plain, suite.run("runtime"));
            }
            System.out.println("docker " + lab.engine().version() + ": " + outcomes);
        } finally {
            Directories.remove(directory);
        }
        System.exit(outcomes.different() == 0 ? 0 : 1);
    }

    /**
     * @param name of a copy of the checkout: the tests write there, and do not remove all of it
     */
    private Map<String, String> run(String name) {
        Path sources = directory.resolve(name);
        Command.of("cp", "-a", checkout, sources).run().ok();
        String tests = "not " + String.join(" and not ", LEFT_OUT);
        Command.Result result =
                Command.of("python3", "-m", "pytest", "-rA", "-k", tests, "tests/integration")
                        .in(sources)
                        .with("DOCKER_HOST", lab.engine().url())
                        .with("PYTHONPATH", sources + ":" + System.getenv("PYTHONPATH"))
                        .after("timeout", "840")
                        .run();
        Map<String, String> outcomes = Outcomes.read(result, OUTCOME);
        lab.engine().removeContainers();
        return outcomes;
    }
}
