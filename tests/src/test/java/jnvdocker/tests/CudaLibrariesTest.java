package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * CUDA libraries of a newer driver that an image has itself, on a host whose driver supports CUDA
 * 12.2: where they come first, and whether an image that needs them is refused.
 */
class CudaLibrariesTest extends RuntimeEngineTest {
    private static final String REQUIRES =
            "ENV NVIDIA_REQUIRE_CUDA=\"cuda>=13.0 driver>=535,driver<536\"";
    private static final String LACKING =
            "unsatisfied condition: cuda>=13.0 (cuda is 12.2; NVIDIA_REQUIRE_CUDA of the image),"
                    + " and no cuda-compat of the image is in use";

    @BeforeAll
    static void makeImages() {
        lab.engine().image("debian", "--tools", "bookworm");
        make("newer", "580.65.06");
        make("older", "470.256.02");
    }

    /** Makes an image with CUDA libraries of that driver, behind a link as in NVIDIA's images. */
    private static void make(String image, String driver) {
        lab.docker(
                        "run",
                        "--name=it",
                        "debian",
                        "sh",
                        "-ec",
                        "mkdir -p /usr/local/cuda-13.0/compat; ln -s cuda-13.0 /usr/local/cuda; cd"
                                + " /usr/local/cuda/compat; cp /usr/lib/*/libz.so.1"
                                + " libcuda.so.V; ln -s libcuda.so.V libcuda.so.1; ln -s"
                                        .replace("V", driver)
                                + " libcuda.so.1 libcuda.so")
                .ok();
        lab.docker(
                        "commit",
                        "--change",
                        REQUIRES,
                        "--change",
                        "ENV NVIDIA_VISIBLE_DEVICES=all",
                        "it",
                        image)
                .ok();
        lab.docker("rm", "it").ok();
    }

    private static Command.Result run(Object... words) {
        List<Object> all = new ArrayList<>(List.of("run", "--rm", "--runtime=nvidia", "--gpus=1"));
        all.addAll(Arrays.asList(words));
        return lab.docker(all.toArray());
    }

    private static void assertRefused(Command.Result result) {
        assertEquals(125, result.exitCode(), result::toString);
        assertTrue(result.err().contains(LACKING), result::toString);
    }

    @Test
    void newerLibrariesOfTheImageComeFirst() {
        String first = "ldconfig -p | grep -m 1 'libcuda.so.1 '";
        String script = "echo $LD_LIBRARY_PATH; " + first + "; ldconfig; " + first;
        String out = run("newer", "sh", "-c", script).ok().out();
        String entry = "\tlibcuda.so.1 (libc6,x86-64) => /usr/local/cuda/compat/libcuda.so.1\n";
        assertTrue(out.startsWith("/usr/local/cuda/compat:"), out);
        assertTrue(out.contains(entry), out);
    }

    @Test
    void imageThatNeedsThemIsRefusedWhereTheyDoNot() {
        assertRefused(run("older", "true"));
        run("-eNVIDIA_DISABLE_REQUIRE=1", "older", "true").ok();
        lab.jnvdocker("run", "--rm", "--gpus=1", "newer", "true").ok();
        assertRefused(lab.jnvdocker("run", "--rm", "--gpus=1", "older", "true"));
        Object[] plain = {"run", "--rm", "--runtime=runc", "--gpus=1", "newer", "true"};
        assertRefused(lab.jnvdocker(plain));
        String path = "-eLD_LIBRARY_PATH=/usr/local/cuda/compat";
        lab.jnvdocker("run", "--rm", "--runtime=runc", "--gpus=1", path, "newer", "true").ok();
    }

    @Test
    void needsSaysWhetherTheyCount() {
        Command.Result met = lab.jnvdocker("gpu", "needs", "newer").ok();
        assertTrue(met.out().contains("\nCUDA libs:     the image's own come first\n"), met.out());
        assertTrue(met.out().contains("met, by CUDA libraries of the image's own\n"), met.out());
        Command.Result unmet = lab.jnvdocker("gpu", "needs", "older");
        assertEquals(1, unmet.exitCode(), unmet::toString);
        assertTrue(unmet.out().contains("Not met: " + LACKING), unmet.out());
        assertEquals(
                "false",
                lab.jnvdocker("gpu", "needs", "--json", "older")
                        .out()
                        .replaceAll("\\s", "")
                        .replaceFirst(".*\"compat_first\":([a-z]+).*", "$1"));
        assertEquals("", lab.docker("ps", "-aq").ok().out());
    }
}
