package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.RuntimeInstallation;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Programs of an image find the driver without variables, in containers that docker creates with
 * our OCI runtime. The images are made of Debian's packages.
 */
@Tag("docker")
@Tag("root")
class DriverInImagesTest {
    private static final String LIBRARIES =
            "libcuda.so.1 libnvidia-ml.so.1 libnvidia-ptxjitcompiler.so.1";
    private static final String LOADS =
            "ok libcuda.so.1\nok libnvidia-ml.so.1\nok libnvidia-ptxjitcompiler.so.1\n";

    private static Lab lab;
    private static RuntimeInstallation runtime;

    @BeforeAll
    static void open() {
        lab = new Lab(TestEngine.Release.wanted());
        runtime = RuntimeInstallation.of(lab);
        lab.engine().image("bookworm", "--tools", "bookworm");
        lab.engine().image("trixie", "--tools", "trixie");
    }

    @AfterAll
    static void close() {
        lab.close();
        runtime.close();
    }

    @AfterEach
    void nothingIsLeft() {
        lab.clear();
    }

    private static Command.Result run(Object... words) {
        List<Object> all = new ArrayList<>(List.of("run", "--rm", "--runtime=nvidia", "--gpus=1"));
        all.addAll(Arrays.asList(words));
        return lab.docker(all.toArray());
    }

    private static String sh(String image, String script, Object... options) {
        List<Object> words = new ArrayList<>(Arrays.asList(options));
        words.addAll(List.of(image, "sh", "-c", script));
        return run(words.toArray()).ok().out();
    }

    @ParameterizedTest
    @ValueSource(strings = {"bookworm", "trixie"})
    void programsFindTheDriverWithoutVariables(String image) {
        Command.Result result =
                run(
                        image,
                        "sh",
                        "-c",
                        "env -i D L; sudo -i D L; su - -c 'D L';"
                                        .replace("D", "/usr/local/bin/dlopen")
                                        .replace("L", LIBRARIES)
                                + " basename $(su - -c 'command -v nvidia-smi');"
                                + " unset LD_LIBRARY_PATH; python3 -c 'import ctypes.util;"
                                + " print(ctypes.util.find_library(\"cuda\"))';"
                                + " ld -shared -o /tmp/x -lcuda && echo linked");
        assertEquals(
                LOADS + LOADS + LOADS + "nvidia-smi\nlibcuda.so.1\nlinked\n",
                result.out(),
                result::toString);
    }

    @ParameterizedTest
    @ValueSource(strings = {"bookworm", "trixie"})
    void imagesOwnLdconfigKeepsThem(String image) {
        String list = "ldconfig -p | grep -E '(libcuda.so|libnvidia-glcore|libc.so.6)';";
        String out =
                sh(
                        image,
                        list
                                + " ldconfig; echo; "
                                + list
                                + " env -i /usr/local/bin/dlopen "
                                + LIBRARIES);
        for (String half : out.split("\n\n", 2)) {
            assertTrue(
                    half.contains("libcuda.so.1 (libc6,x86-64) => /usr/local/nvidia/lib64/"), out);
            assertTrue(half.contains("libnvidia-glcore.so.535."), out);
            assertTrue(half.contains("libc.so.6 (libc6,x86-64) => /"), out);
        }
        assertTrue(out.endsWith(LOADS), out);
    }

    @Test
    void variableOfTheUsersOwnDoesNotHideIt() {
        assertEquals(
                "/opt/x\n" + LOADS,
                sh(
                        "bookworm",
                        "echo $LD_LIBRARY_PATH; dlopen " + LIBRARIES,
                        "-e",
                        "LD_LIBRARY_PATH=/opt/x"));
        lab.docker(
                        "run",
                        "-d",
                        "--runtime=nvidia",
                        "--gpus=1",
                        "--name=it",
                        "bookworm",
                        "sleep",
                        "9")
                .ok();
        String[] exec = ("exec -e LD_LIBRARY_PATH=/opt/x it dlopen " + LIBRARIES).split(" ");
        assertEquals(LOADS, lab.docker((Object[]) exec).ok().out());
    }

    @Test
    void readOnlyContainersHaveItToo() {
        assertEquals(
                LOADS,
                sh(
                        "bookworm",
                        "env -i /usr/local/bin/dlopen " + LIBRARIES,
                        "--read-only",
                        "--tmpfs=/tmp"));
    }

    @Test
    void restartWritesNothingAgain() {
        lab.docker(
                        "create",
                        "--runtime=nvidia",
                        "--gpus=1",
                        "--name=it",
                        "bookworm",
                        "stat",
                        "-c",
                        "%i",
                        "/etc/ld.so.cache")
                .ok();
        String first = lab.docker("start", "-a", "it").ok().out();
        assertEquals(first, lab.docker("start", "-a", "it").ok().out());
    }

    /** The image's own files come after the host's, or are covered where programs look first. */
    @Test
    void staleDriverOfTheImageLosesToTheHosts() {
        lab.docker(
                        "run",
                        "--name=it",
                        "bookworm",
                        "sh",
                        "-c",
                        "cd /usr/lib/x86_64-linux-gnu; cp libz.so.1 libcuda.so.470.1; ln -s"
                            + " libcuda.so.470.1 libcuda.so.1; cp libz.so.1 libnvidia-ml.so.1; : >"
                            + " libnvidia-opencl.so.1; echo '#!/bin/sh' > /usr/bin/nvidia-smi;"
                            + " mkdir /opt/stubs; cp libz.so.1 /opt/stubs/libcuda.so; echo"
                            + " /opt/stubs > /etc/ld.so.conf.d/stubs.conf; ldconfig")
                .ok();
        lab.docker("commit", "it", "stale").ok();
        lab.docker("rm", "it").ok();
        String out =
                sh(
                        "stale",
                        "same() { [ \"$(sha256sum < $1)\" = \"$(sha256sum < $2)\" ] && echo"
                            + " covered; }; unset LD_LIBRARY_PATH; cd /usr/lib/x86_64-linux-gnu;"
                            + " readlink libcuda.so.1; same libnvidia-ml.so.1"
                            + " /usr/local/nvidia/lib64/libnvidia-ml.so.1; readlink"
                            + " libnvidia-opencl.so.1; same /usr/bin/nvidia-smi"
                            + " /usr/local/nvidia/bin/nvidia-smi; ldconfig -p | grep -m 1"
                            + " 'libcuda.so.1 '; ldconfig 2> /dev/null; ldconfig -p | grep -m 1"
                            + " 'libcuda.so.1 '; dlopen "
                                + LIBRARIES);
        String entry = "\tlibcuda.so.1 (libc6,x86-64) => /usr/local/nvidia/lib64/libcuda.so.1\n";
        assertEquals(
                "/usr/local/nvidia/lib64/libcuda.so.1\ncovered\n"
                        + "/usr/local/nvidia/lib64/libnvidia-opencl.so.1\ncovered\n"
                        + entry
                        + entry
                        + LOADS,
                out);
    }

    @Test
    void hiddenFileOfTheImageIsNamed() {
        lab.docker(
                        "run",
                        "--name=it",
                        "bookworm",
                        "sh",
                        "-c",
                        "mkdir -p /usr/local/nvidia/bin; : > /usr/local/nvidia/bin/mytool")
                .ok();
        lab.docker("commit", "it", "hidden").ok();
        lab.docker("rm", "it").ok();
        Command.Result result = run("hidden", "true");
        assertTrue(
                result.err()
                        .contains(
                                "jnvdocker: /usr/local/nvidia/bin/mytool of this image is hidden"),
                result::toString);
    }

    /** The image's libraries of a newer driver come first exactly when NVIDIA's rule says so. */
    @Test
    void newerLibrariesOfTheImageAreUsedWhereTheyFit() {
        lab.docker(
                        "run",
                        "--name=it",
                        "bookworm",
                        "sh",
                        "-c",
                        "mkdir -p /usr/local/cuda-12.4/compat; ln -s cuda-12.4 /usr/local/cuda; cd"
                            + " /usr/local/cuda/compat; cp /usr/lib/*/libz.so.1"
                            + " libcuda.so.550.54.15; ln -s libcuda.so.550.54.15 libcuda.so.1; ln"
                            + " -s libcuda.so.1 libcuda.so")
                .ok();
        lab.docker("commit", "it", "compat").ok();
        lab.docker("rm", "it").ok();
        String out =
                sh(
                        "compat",
                        "echo $LD_LIBRARY_PATH; ldconfig -p | grep -m 1 'libcuda.so.1 ';"
                                + " ldconfig; ldconfig -p | grep -m 1 'libcuda.so.1 '");
        String entry = "\tlibcuda.so.1 (libc6,x86-64) => /usr/local/cuda/compat/libcuda.so.1\n";
        assertTrue(out.startsWith("/usr/local/cuda/compat:"), out);
        assertTrue(out.contains(entry), out);
    }

    @Test
    void imageWithMuslIsLeftAloneAndSaysSo() {
        lab.docker(
                        "run",
                        "--name=it",
                        "plain",
                        "sh",
                        "-c",
                        "mkdir -p /lib; : > /lib/ld-musl-x86_64.so.1")
                .ok();
        lab.docker("commit", "it", "alpine").ok();
        lab.docker("rm", "it").ok();
        Command.Result result = run("alpine", "sh", "-c", "ls /usr/lib /usr/bin; ls /etc");
        assertTrue(result.err().contains("musl"), result::toString);
        assertTrue(
                !result.out().contains("nvidia") && !result.out().contains("ld.so"),
                result::toString);
    }
}
