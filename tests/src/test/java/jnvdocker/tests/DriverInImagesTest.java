package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.DriverRoot;
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

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
    static void open() throws IOException {
        DriverRoot host = DriverRoot.make(DriverRoot.Release.DRIVER_535, 4);
        Path vendors = Files.createDirectories(host.directory().resolve("etc/OpenCL/vendors"));
        Files.writeString(vendors.resolve("nvidia.icd"), "libnvidia-opencl.so.1\n");
        lab = new Lab(TestEngine.Release.wanted(), host);
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

    /** The image's own files come after the host's, or are covered where programs search first. */
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

    /** With the libraries in /usr/lib64 alone, as Red Hat's and SUSE's images have them. */
    @Test
    void imageOfRedHatsLayoutFindsTheDriver() {
        make(
                "rhel",
                "cp -a --remove-destination /usr/lib/x86_64-linux-gnu/. /usr/lib64/; echo 'include"
                        + " ld.so.conf.d/*.conf' > /etc/ld.so.conf; echo /usr/lib64 >"
                        + " /etc/ld.so.conf.d/lib64.conf; ldconfig; rm -r"
                        + " /usr/lib/x86_64-linux-gnu");
        assertFinds("rhel", "/usr/lib64");
    }

    /** With a directory /lib of its own, as Ubuntu's images up to 18.04 have it. */
    @Test
    void imageWithUnmergedDirectoriesFindsTheDriver() {
        make(
                "unmerged",
                "mkdir -p /new/x86_64-linux-gnu; cp -a /usr/lib/x86_64-linux-gnu/. "
                        + " /new/x86_64-linux-gnu; echo 'include /etc/ld.so.conf.d/*.conf' >"
                        + " /etc/ld.so.conf; printf '/lib/x86_64-linux-gnu\n"
                        + "/usr/lib/x86_64-linux-gnu\n' >"
                        + " /etc/ld.so.conf.d/x86_64-linux-gnu.conf; python3 -c 'import os;"
                        + " os.unlink(\"/lib\"); os.rename(\"/new\", \"/lib\")'; rm"
                        + " /usr/lib/x86_64-linux-gnu/libc.so.6; ldconfig");
        assertFinds("unmerged", "/usr/lib/x86_64-linux-gnu");
    }

    /** Makes an image of another layout, of which each command has succeeded. */
    private static void make(String image, String script) {
        lab.docker("run", "--name=it", "bookworm", "sh", "-ec", script).ok();
        lab.docker("commit", "it", image).ok();
        lab.docker("rm", "it").ok();
    }

    private static void assertFinds(String image, String libraries) {
        String entry = "\tlibcuda.so.1 (libc6,x86-64) => /usr/local/nvidia/lib64/libcuda.so.1\n";
        assertEquals(
                LOADS + "nvidia-smi\n/usr/local/nvidia/lib64/libcuda.so.1\n" + entry + entry,
                sh(
                        image,
                        "env -i /usr/local/bin/dlopen "
                                + LIBRARIES
                                + "; basename $(env -i sh -c 'command -v nvidia-smi'); readlink "
                                + libraries
                                + "/libcuda.so.1; ldconfig -p | grep -m 1 'libcuda.so.1 ';"
                                + " ldconfig; ldconfig -p | grep -m 1 'libcuda.so.1 '"));
    }

    /** By the library's name, so that the container's loader finds it. */
    @Test
    void computeHasOpenClAndGraphicsAloneHasNot() {
        String file = "cat /etc/OpenCL/vendors/nvidia.icd";
        for (String capabilities : List.of("compute,utility", "all", "")) {
            assertEquals(
                    "libnvidia-opencl.so.1\nok libnvidia-opencl.so.1\n",
                    sh(
                            "bookworm",
                            file + "; env -i /usr/local/bin/dlopen libnvidia-opencl.so.1",
                            "-e",
                            "NVIDIA_DRIVER_CAPABILITIES=" + capabilities));
        }
        String none = "-eNVIDIA_DRIVER_CAPABILITIES=graphics";
        assertEquals(1, run(none, "bookworm", "sh", "-c", file).exitCode());
    }

    /** Any user may make a directory, or a link, of that name. */
    @Test
    void directoryOfRootsMpsDaemonIsMounted() throws IOException {
        Path mps = lab.host().directory().resolve("tmp/nvidia-mps");
        Files.createDirectories(mps);
        Files.writeString(mps.resolve("control"), "its\n");
        String script = "cat /tmp/nvidia-mps/control; touch /tmp/nvidia-mps/x; true";
        try {
            assertEquals("its\n", sh("bookworm", script));
            String graphics = "NVIDIA_DRIVER_CAPABILITIES=graphics";
            assertEquals("", sh("bookworm", script, "-e", graphics));
            Command.of("chown", "1000", mps).run().ok();
            assertEquals("", sh("bookworm", script));
            assertFalse(Files.exists(mps.resolve("x")));
            Path other = Files.move(mps, mps.resolveSibling("other"));
            Command.of("chown", "0", other).run().ok();
            Files.createSymbolicLink(mps, Path.of("other"));
            assertEquals("", sh("bookworm", script));
        } finally {
            Directories.remove(mps.getParent());
        }
    }

    @Test
    void capabilityThatMeansNothingIsNamed() {
        String remark = "jnvdocker: NVIDIA_DRIVER_CAPABILITIES has 'graphic', which is ignored;";
        Object[] words = {"-e", "NVIDIA_DRIVER_CAPABILITIES=compute,graphic", "bookworm", "true"};
        Command.Result result = run(words);
        assertTrue(result.ok().err().contains(remark), result::toString);
        assertTrue(lab.log().contains(remark.substring("jnvdocker: ".length())), lab.log());
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
