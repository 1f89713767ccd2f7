package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.tests.world.Browser;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Project;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Path;

/** The manual's site in a real browser, from the disk. */
@Tag("root")
@Tag("tree")
class ManualSiteTest {
    /** Each check is in tests/page/manual.mjs. */
    @Test
    void browserFindsAndShowsThePages() throws IOException {
        Path site = Project.tree().resolve("share/doc/jnvdocker/html");
        Command.Result checked = Command.of("node", "manual.mjs", site).in(Browser.tools()).run();
        System.out.println(checked.out());
        assertEquals(0, checked.exitCode(), checked::toString);
    }
}
