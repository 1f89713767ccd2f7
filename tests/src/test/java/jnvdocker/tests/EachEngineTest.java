package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.ArgumentsProvider;
import org.junit.jupiter.params.provider.ArgumentsSource;
import org.junit.jupiter.params.support.ParameterDeclarations;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.stream.Stream;

/** A lab of each engine for all tests of a class; each test leaves nothing behind in it. */
@Tag("docker")
@Tag("root")
@ParameterizedClass
@ArgumentsSource(EachEngineTest.Engines.class)
abstract class EachEngineTest {
    /**
     * Takes minutes for each engine, or is about what hardly depends on it: there is one at a time,
     * the one that {@code ENGINE} names, by default the newest.
     */
    @Retention(RetentionPolicy.RUNTIME)
    @interface OneAtATime {}

    static final class Engines implements ArgumentsProvider {
        @Override
        public Stream<Arguments> provideArguments(
                ParameterDeclarations parameters, ExtensionContext context) {
            boolean one = context.getRequiredTestClass().isAnnotationPresent(OneAtATime.class);
            Stream<TestEngine.Release> releases =
                    one
                            ? Stream.of(TestEngine.Release.wanted())
                            : Stream.of(TestEngine.Release.values());
            return releases.map(Arguments::of);
        }
    }

    static final String SINCE = " since \\d\\d:\\d\\d";

    static Lab lab;

    @Parameter TestEngine.Release release;

    @BeforeParameterizedClassInvocation
    static void open(TestEngine.Release release) {
        lab = new Lab(release);
    }

    @AfterParameterizedClassInvocation
    static void close() {
        lab.close();
    }

    @AfterEach
    void nothingIsLeftOfContainersThatAreGone() {
        lab.clear();
    }

    static Command.Result docker(Object... arguments) {
        return lab.docker(arguments);
    }

    /** Requests the GPU, which makes the daemon check its holder, and must be refused. */
    static void assertRefused(int gpu, String holder) {
        Command.Result result = lab.gpuContainer("run", "nobody", gpu).run();
        assertEquals(125, result.exitCode(), result::toString);
        assertMatches(
                "jnvdocker: GPU "
                        + gpu
                        + " \\(GPU-5c1a\\w{4}\\) is held by \\S+'s container "
                        + holder
                        + SINCE
                        + "; wait with --gpu-wait.*\n",
                result.err());
    }

    static void assertMatches(String pattern, String text) {
        assertTrue(text.matches(pattern), () -> text + "--- is not like\n" + pattern);
    }
}
