package jnvdocker.tests.bench;

import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.labels.DriverVersion;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.volume.DriverVolume;
import jnvdocker.volume.DriverVolumeStore;
import jnvdocker.volume.Manifest;
import jnvdocker.volume.ServedVolumes;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The time to build the driver volume, by hard link beside the driver's files and by copy on
 * another file system, compared with {@code cp -a} of the same files to the same place.
 */
public final class VolumeBench {
    private static final int PAIRS = 30;
    private static final int WARM_UP = 5;
    private static final int SERVED = 1000;

    /** The pid of no process, hence an engine that does not see the mount. */
    private static final int NOBODY = Integer.MAX_VALUE;

    private VolumeBench() {}

    public static void main(String[] arguments) throws IOException {
        int pairs = arguments.length == 0 ? PAIRS : Integer.parseInt(arguments[0]);
        try (DriverRoot host = DriverRoot.make(DriverRoot.Release.DRIVER_535, 4)) {
            Path beside = Directories.make("volume");
            Path other = Directories.make("volume");
            Command.of("mount", "-t", "tmpfs", "-o", "size=2g", "none", other).run().ok();
            try {
                measure("by hard link", host, beside, pairs);
                measure("by copy", host, other, pairs);
            } finally {
                Command.of("umount", other).run().ok();
                Directories.remove(beside);
                Directories.remove(other);
            }
        }
    }

    private static void measure(String how, DriverRoot root, Path directory, int pairs)
            throws IOException {
        Host host = Host.at(root.directory());
        DriverVersion version = HostDriver.readVersion(host);
        DriverVolumeStore store = new DriverVolumeStore(directory);
        DriverVolume volume = store.build(host, version);
        Command copy = copy(root, volume, directory.resolve("copy"));
        Samples builds = new Samples(pairs);
        Samples copies = new Samples(pairs);
        for (int i = -WARM_UP; i < pairs; i++) {
            store.remove(version);
            long start = System.nanoTime();
            store.build(host, version);
            long built = System.nanoTime();
            Files.createDirectories(directory.resolve("copy"));
            long between = System.nanoTime();
            copy.run().ok();
            if (i >= 0) {
                builds.add(built - start);
                copies.add(System.nanoTime() - between);
            }
            Directories.remove(directory.resolve("copy"));
        }
        System.out.println(how + " " + volume.cloned() + ", " + volume.bytes() / 1_000_000 + " MB");
        System.out.println("  volume  " + builds);
        System.out.println("  cp -a   " + copies);
        System.out.printf(
                Locale.ROOT, "  ratio of the medians: %.2f x%n", builds.median() / copies.median());
        serve(host, version, store, directory);
    }

    /**
     * Measures a container's wait for the volume, with an engine that sees the mount and with one
     * that does not.
     */
    private static void serve(
            Host host, DriverVersion version, DriverVolumeStore store, Path directory)
            throws IOException {
        ServedVolumes served = new ServedVolumes(store, directory, directory.resolve("run"));
        int us = (int) ProcessHandle.current().pid();
        long start = System.nanoTime();
        served.serve(host, version, us);
        System.out.printf(
                Locale.ROOT, "  first mount %.2f ms%n", (System.nanoTime() - start) / 1e6);
        for (int engine : List.of(us, NOBODY)) {
            Samples samples = new Samples(SERVED);
            Path path = null;
            for (int i = -WARM_UP; i < SERVED; i++) {
                long before = System.nanoTime();
                path = served.serve(host, version, engine).path();
                if (i >= 0) {
                    samples.add(System.nanoTime() - before);
                }
            }
            System.out.println("  " + (engine == us ? "mount   " : "a copy  ") + samples);
            System.out.print("  " + Command.of("du", "-s", path).run().ok().out());
        }
        served.releaseAll();
    }

    private static Command copy(DriverRoot root, DriverVolume volume, Path to) {
        List<Object> words = new ArrayList<>(List.of("cp", "-a", "-t", to));
        for (Manifest.Entry file : volume.manifest().files()) {
            words.add(root.directory().resolve(Path.of("/").relativize(Path.of(file.source()))));
        }
        return Command.of(words.toArray());
    }
}
