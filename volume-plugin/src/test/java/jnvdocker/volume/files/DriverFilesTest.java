package jnvdocker.volume.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.volume.files.DriverFiles.LeftOut;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

class DriverFilesTest {
    private static final String LIB = TestingHost.LIB;
    private static final String V = TestingHost.VERSION.text();

    @TempDir Path directory;
    private TestingHost host;

    @BeforeEach
    void installDriver() throws IOException {
        host = TestingHost.withDriver(directory.resolve("host"));
    }

    @Test
    void driverIsTakenWithItsLinks() throws Exception {
        DriverFiles found = host.find();

        assertEquals(
                List.of("bin/nvidia-smi", "lib64/libcuda.so." + V, "lib64/libnvidia-ml.so." + V),
                files(found));
        assertEquals(
                List.of(
                        "lib64/libcuda.so -> libcuda.so." + V,
                        "lib64/libcuda.so.1 -> libcuda.so." + V,
                        "lib64/libnvidia-ml.so.1 -> libnvidia-ml.so." + V),
                links(found));
        assertEquals(List.of(), found.leftOut());
        assertEquals(LIB + "/libcuda.so." + V, found.files().get(1).source());
    }

    @Test
    void debianLayoutGivesTheSameNames() throws Exception {
        TestingHost debian = TestingHost.empty(directory.resolve("debian"));
        String current = LIB + "/nvidia/current";
        for (String stem : List.of("libcuda", "libnvidia-ml")) {
            String soname = stem + ".so.1";
            debian.file(current + "/" + stem + ".so." + V, TestingElf.library(soname))
                    .link(current + "/" + soname, stem + ".so." + V)
                    .link("/etc/alternatives/nvidia--" + soname, current + "/" + soname)
                    .link(LIB + "/" + soname, "/etc/alternatives/nvidia--" + soname)
                    .cached(soname, LIB + "/" + soname);
        }
        debian.file("/usr/lib/nvidia/current/nvidia-smi", TestingElf.library())
                .link("/etc/alternatives/nvidia--nvidia-smi", "/usr/lib/nvidia/current/nvidia-smi")
                .link("/usr/bin/nvidia-smi", "/etc/alternatives/nvidia--nvidia-smi");

        assertEquals(files(host.find()), files(debian.find()));
        assertEquals(links(host.find()), links(debian.find()));
        assertEquals("/usr/lib/nvidia/current/nvidia-smi", debian.find().files().get(0).source());
    }

    @Test
    void withoutLoaderCacheTheDefaultDirectoriesCount() throws Exception {
        List<String> before = files(host.find());
        Files.delete(host.path("/etc/ld.so.cache"));
        assertEquals(before, files(host.find()));
    }

    @Test
    void damagedLoaderCacheIsAnError() throws Exception {
        host.cache(new byte[7]);
        assertTrue(refusal().contains("run ldconfig"));
    }

    @Test
    void libraryThatTheCacheDoesNotNameIsTaken() throws Exception {
        host.file(LIB + "/libnvidia-new.so." + V, TestingElf.library());
        assertTrue(files(host.find()).contains("lib64/libnvidia-new.so." + V));
    }

    @Test
    void subdirectoriesOfDriversAreSearched() throws Exception {
        host.file(LIB + "/vdpau/libvdpau_nvidia.so." + V, TestingElf.library("libvdpau_nvidia.so"))
                .link(LIB + "/gbm/nvidia-drm_gbm.so", "../libnvidia-allocator.so." + V)
                .file(LIB + "/libnvidia-allocator.so." + V, TestingElf.library());

        assertTrue(files(host.find()).contains("lib64/libvdpau_nvidia.so." + V));
        assertTrue(
                links(host.find())
                        .contains("lib64/nvidia-drm_gbm.so -> libnvidia-allocator.so." + V));
    }

    @Test
    void directoryThatOnlyTheCacheNamesIsSearched() throws Exception {
        host.library("/opt/nvidia/lib", "libnvcuvid.so." + V, "libnvcuvid.so.1");
        assertTrue(files(host.find()).contains("lib64/libnvcuvid.so." + V));
    }

    @Test
    void libraryOf32BitsGoesToItsOwnDirectory() throws Exception {
        host.file(
                "/usr/lib/i386-linux-gnu/libcuda.so." + V,
                TestingElf.library("libcuda.so.1").i386());

        assertTrue(files(host.find()).contains("lib/libcuda.so." + V));
        assertTrue(links(host.find()).contains("lib/libcuda.so.1 -> libcuda.so." + V));
    }

    @Test
    void libraryOfAnotherArchitectureIsLeftOut() throws Exception {
        host.file(LIB + "/libnvidia-a.so." + V, TestingElf.library().machine(ElfFile.AARCH64))
                .file(LIB + "/libnvidia-b.so." + V, TestingElf.library().bigEndian())
                .file(LIB + "/libnvidia-x32.so." + V, TestingElf.library().bits(32));

        assertLeftOut(LIB + "/libnvidia-a.so." + V, "another architecture");
        assertLeftOut(LIB + "/libnvidia-b.so." + V, "another architecture");
        assertLeftOut(LIB + "/libnvidia-x32.so." + V, "another architecture");
    }

    @Test
    void aarch64MachineTakesItsOwn() throws Exception {
        TestingHost arm = TestingHost.empty(directory.resolve("arm"));
        arm.file(
                "/usr/lib/aarch64-linux-gnu/libcuda.so." + V,
                TestingElf.library("libcuda.so.1").machine(ElfFile.AARCH64));

        DriverFiles found = DriverFiles.find(arm.host(), TestingHost.VERSION, Machine.AARCH64);
        assertEquals(List.of("lib64/libcuda.so." + V), files(found));
    }

    @Test
    void setUidFilesAreLeftOut() throws Exception {
        Path file = host.path(LIB + "/libnvidia-cfg.so." + V);
        TestingElf.library().write(file);
        Files.setAttribute(file, "unix:mode", 0104755);
        Files.setAttribute(host.path("/usr/bin/nvidia-smi"), "unix:mode", 0102755);

        assertLeftOut(LIB + "/libnvidia-cfg.so." + V, "set-uid");
        assertLeftOut("/usr/bin/nvidia-smi", "set-uid");
    }

    @Test
    void brokenFilesAreLeftOut() throws Exception {
        Files.writeString(host.path(LIB + "/libnvidia-cfg.so." + V), "GROUP ( libm.so.6 )");
        Files.createDirectories(host.path(LIB + "/libnvidia-fbc.so." + V));

        assertLeftOut(LIB + "/libnvidia-cfg.so." + V, "not an ELF file");
        assertLeftOut(LIB + "/libnvidia-fbc.so." + V, "not a regular file");
    }

    @Test
    void linksThatLeadNowhereAreLeftOut() throws Exception {
        host.link(LIB + "/libnvoptix.so.1", "libnvoptix.so." + V)
                .link(LIB + "/libnvcuvid.so.1", "libnvcuvid.so.1")
                .cached("libnvidia-ngx.so.1", LIB + "/libnvidia-ngx.so.1")
                .link("/usr/bin/nvidia-debugdump", "/nowhere");

        assertLeftOut(LIB + "/libnvoptix.so.1", "leads nowhere");
        assertLeftOut(LIB + "/libnvcuvid.so.1", "in a circle");
        assertLeftOut(LIB + "/libnvidia-ngx.so.1", "the loader cache names it");
        assertLeftOut("/usr/bin/nvidia-debugdump", "leads nowhere");
    }

    @Test
    void serverModulesAndSettingsAreLeftOut() throws Exception {
        String xorg = "/usr/lib/xorg/modules";
        host.file(xorg + "/extensions/libglxserver_nvidia.so." + V, TestingElf.library())
                .file(xorg + "/drivers/nvidia_drv.so", TestingElf.library())
                .file(LIB + "/nvidia/xorg/libother.so." + V, TestingElf.library())
                .file(LIB + "/libnvidia-gtk3.so." + V, TestingElf.library())
                .file("/usr/bin/nvidia-settings", TestingElf.library())
                .file("/usr/bin/nvidia-modprobe", TestingElf.library());

        assertLeftOut(xorg + "/extensions/libglxserver_nvidia.so." + V, "X server");
        assertLeftOut(xorg + "/drivers/nvidia_drv.so", "X server");
        assertLeftOut(LIB + "/nvidia/xorg/libother.so." + V, "X server");
        assertLeftOut(LIB + "/libnvidia-gtk3.so." + V, "nvidia-settings");
        assertLeftOut("/usr/bin/nvidia-settings", "host's driver");
        assertLeftOut("/usr/bin/nvidia-modprobe", "host's driver");
    }

    @Test
    void librariesOfAnotherDriverAreLeftOut() throws Exception {
        host.library(LIB, "libnvidia-encode.so.470.256.02", "libnvidia-encode.so.1");

        assertLeftOut(LIB + "/libnvidia-encode.so.470.256.02", "belongs to driver 470.256.02");
        assertFalse(String.join(" ", links(host.find())).contains("encode"));
    }

    @Test
    void compatLibraryThatTheLoaderPrefersDoesNotGetTheLink() throws Exception {
        TestingHost compat = TestingHost.empty(directory.resolve("compat"));
        compat.library("/usr/local/cuda/compat", "libcuda.so.550.54.14", "libcuda.so.1")
                .library(LIB, "libcuda.so." + V, "libcuda.so.1");

        assertTrue(links(compat.find()).contains("lib64/libcuda.so.1 -> libcuda.so." + V));
    }

    @Test
    void tlsOfTheOldAbiIsLeftOut() throws Exception {
        String name = "libnvidia-tls.so." + V;
        host.file(LIB + "/" + name, TestingElf.library(name).abi(2, 2, 5))
                .file(LIB + "/tls/" + name, TestingElf.library(name).abi(2, 3, 99));

        assertLeftOut(LIB + "/" + name, "kernel 2.2.5");
        assertEquals(LIB + "/tls/" + name, source("lib64/" + name));
    }

    @Test
    void glIsTakenWhenItLinksToTheDriverOrHasItsVersion() throws Exception {
        host.file(LIB + "/libGL.so.1.7.0", TestingElf.library("libGL.so.1").needs("libGLX.so.0"))
                .file(LIB + "/libEGL.so." + V, TestingElf.library("libEGL.so.1"))
                .file(
                        LIB + "/libGLESv2.so.2.1.0",
                        TestingElf.library("libGLESv2.so.2").needs("libnvidia-eglcore.so." + V));

        List<String> files = files(host.find());
        assertFalse(files.contains("lib64/libGL.so.1.7.0"));
        assertTrue(files.contains("lib64/libGLESv2.so.2.1.0"));
        // Before GLVND: libGLESv1_CM.so.340.108 needs libc alone.
        assertTrue(files.contains("lib64/libEGL.so." + V));
        assertEquals(List.of(), host.find().leftOut(), "another vendor's GL is not mentioned");
    }

    @Test
    void glxIndirectLeadsToTheDriver() throws Exception {
        host.library(LIB, "libGLX_nvidia.so." + V, "libGLX_nvidia.so.0");
        assertTrue(
                links(host.find()).contains("lib64/libGLX_indirect.so.0 -> libGLX_nvidia.so." + V));
    }

    @Test
    void librariesWithNumbersOfTheirOwnAreTaken() throws Exception {
        host.library(LIB, "libnvidia-egl-wayland.so.1.1.10", "libnvidia-egl-wayland.so.1")
                .file(LIB + "/libnvidia-api.so.1", TestingElf.library("libnvidia-api.so.1"));

        List<String> files = files(host.find());
        assertTrue(files.contains("lib64/libnvidia-egl-wayland.so.1.1.10"));
        assertTrue(files.contains("lib64/libnvidia-api.so.1"));
    }

    @Test
    void remainsThatTheLoaderPassesByAreLeftOut() throws Exception {
        host.library(LIB, "libnvidia-nvvm.so." + V, "libnvidia-nvvm.so.4")
                .file(LIB + "/libnvidia-nvvm.so.4.0.0", TestingElf.library("libnvidia-nvvm.so.4"));

        assertLeftOut(LIB + "/libnvidia-nvvm.so.4.0.0", "the loader takes");
        assertTrue(
                links(host.find()).contains("lib64/libnvidia-nvvm.so.4 -> libnvidia-nvvm.so." + V));
    }

    @Test
    void ofTwoFilesWithOneNameTheLoadersIsTaken() throws Exception {
        host.file("/lib64/libcuda.so." + V, TestingElf.library("libcuda.so.1").needs("x"));

        assertEquals(LIB + "/libcuda.so." + V, source("lib64/libcuda.so." + V));
        assertLeftOut("/lib64/libcuda.so." + V, "the loader takes " + LIB);
    }

    @Test
    void directoryReachedByTwoNamesCountsOnce() throws Exception {
        host.link("/lib", "usr/lib");
        assertEquals(List.of(), host.find().leftOut());
    }

    @Test
    void linkWithTheVersionNamesAFileWithoutOne() throws Exception {
        host.file("/opt/store/abc", TestingElf.library("libnvcuvid.so.1"))
                .link(LIB + "/libnvcuvid.so." + V, "/opt/store/abc");
        assertEquals("/opt/store/abc", source("lib64/libnvcuvid.so." + V));
    }

    @Test
    void namesThatLeadOutOfTheVolumeMakeNoLinks() throws Exception {
        host.file(LIB + "/libnvidia-a.so." + V, TestingElf.library("../../etc/evil.so"))
                .file(LIB + "/libnvidia-b.so." + V, TestingElf.library(".."))
                .cached("../libcuda.so.9", LIB + "/libcuda.so." + V);

        for (DriverFiles.DriverLink link : host.find().links()) {
            assertFalse(link.name().contains("/") || link.name().startsWith("."), link.name());
            assertFalse(link.target().contains("/"), link.target());
        }
    }

    @Test
    void pathsAndLinksStayBeneathTheHostsRoot() throws Exception {
        Path outside = directory.resolve("libnvidia-cfg.so." + V);
        TestingElf.library().write(outside);
        host.cached("libnvidia-cfg.so.1", "/../../libnvidia-cfg.so." + V)
                .link(LIB + "/libnvidia-cfg.so.1", "../../../../../../libnvidia-cfg.so." + V)
                .link(LIB + "/libnvidia-cfg.so", outside.toString());

        assertFalse(String.join(" ", files(host.find())).contains("libnvidia-cfg"));
    }

    @Test
    void otherUserSpaceThanTheModuleIsAnError() throws Exception {
        TestingHost upgraded = TestingHost.empty(directory.resolve("upgraded"));
        upgraded.library(LIB, "libcuda.so.550.54.14", "libcuda.so.1");
        host = upgraded;

        String text = refusal();
        assertTrue(text.contains("of driver " + V), text);
        assertTrue(text.contains(LIB + "/libcuda.so.550.54.14"), text);
        assertTrue(text.contains("reboot"), text);
    }

    @Test
    void noUserSpaceAtAllIsAnError() throws Exception {
        host = TestingHost.empty(directory.resolve("bare"));
        Files.createDirectories(host.path("/usr/lib"));

        String text = refusal();
        assertTrue(text.contains("not installed: no libcuda.so." + V), text);
        assertTrue(text.contains("/usr/lib"), text);
    }

    @Test
    void hostWithoutAnyDirectoryOfLibrariesIsSaidToHaveNone() throws Exception {
        host = TestingHost.empty(directory.resolve("nothing"));
        String text = refusal();
        assertTrue(text.contains("not installed: this host has no directory of libraries; "), text);
    }

    @Test
    void libcudaThatCantBeUsedIsAnErrorWithItsReason() throws Exception {
        Files.writeString(host.path(LIB + "/libcuda.so." + V), "");
        String text = refusal();
        assertTrue(text.contains(LIB + "/libcuda.so." + V), text);
    }

    private String refusal() {
        return assertThrows(DriverVolumeException.class, () -> host.find()).getMessage();
    }

    private void assertLeftOut(String path, String reason) throws IOException {
        DriverFiles found = host.find();
        assertTrue(
                found.leftOut().stream().anyMatch(left -> matches(left, path, reason)),
                () -> path + " not in " + found.leftOut());
        assertFalse(found.files().stream().anyMatch(file -> file.source().equals(path)));
    }

    private static boolean matches(LeftOut left, String path, String reason) {
        return left.path().equals(path) && left.reason().words().contains(reason);
    }

    private String source(String file) throws IOException {
        return host.find().files().stream()
                .filter(found -> (found.directory() + "/" + found.name()).equals(file))
                .findFirst()
                .orElseThrow()
                .source();
    }

    private static List<String> files(DriverFiles found) {
        return found.files().stream().map(file -> file.directory() + "/" + file.name()).toList();
    }

    private static List<String> links(DriverFiles found) {
        return found.links().stream()
                .map(link -> link.directory() + "/" + link.name() + " -> " + link.target())
                .toList();
    }
}
