package jnvdocker.volume.files;

import jnvdocker.host.Host;
import jnvdocker.labels.DriverVersion;

import java.io.IOException;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;

/**
 * Which files of the host belong in the volume of a driver, and under which names. Every library
 * that bears the driver's version is in one of the lists: {@code files}, or {@code leftOut} with
 * the reason. The lists are sorted, so the same host gives the same answer.
 */
public record DriverFiles(
        DriverVersion version,
        List<DriverFile> files,
        List<DriverLink> links,
        List<DataFile> graphics,
        List<LeftOut> leftOut) {

    /**
     * A file to go into the volume.
     *
     * @param source where it is on the host, as the host spells it, without links
     * @param name its name in the volume, without a slash
     * @param size in bytes
     */
    public record DriverFile(Directory directory, String name, String source, long size) {}

    /**
     * A symbolic link in the volume.
     *
     * @param target the name of a file in the same directory
     */
    public record DriverLink(Directory directory, String name, String target) {}

    /**
     * One of {@link GraphicsFiles}.
     *
     * @param inVolume its path in the volume, as {@link GraphicsFiles#targets} names it
     * @param source where it is on the host, as the host spells it, without links
     * @param size in bytes
     */
    public record DataFile(String inVolume, String source, long size) {}

    /**
     * A file that does not go into the volume.
     *
     * @param path as the host spells it
     */
    public record LeftOut(String path, Reason reason) {
        public LeftOut {
            Objects.requireNonNull(reason, "no reason");
        }
    }

    public DriverFiles {
        files =
                sorted(
                        files,
                        Comparator.comparing(DriverFile::directory)
                                .thenComparing(DriverFile::name));
        links =
                sorted(
                        links,
                        Comparator.comparing(DriverLink::directory)
                                .thenComparing(DriverLink::name));
        graphics = sorted(graphics, Comparator.comparing(DataFile::inVolume));
        leftOut =
                sorted(
                        leftOut,
                        Comparator.comparing(LeftOut::path)
                                .thenComparing(left -> left.reason().words()));
    }

    /**
     * @param driver the version of the kernel module that is loaded
     * @throws DriverVolumeException when the user-space driver is not installed, or is another
     *     version than the module, or the loader cache is damaged
     */
    public static DriverFiles find(Host host, DriverVersion driver) throws IOException {
        return find(host, driver, Machine.ofThisMachine());
    }

    static DriverFiles find(Host host, DriverVersion driver, Machine machine) throws IOException {
        LibrarySearch search = LibrarySearch.of(host, driver, machine);
        DriverSelection selection = new DriverSelection(driver, machine);
        search.dead().forEach((path, why) -> selection.leaveOut(path, new Reason.Fault(why)));
        search.closed().forEach((path, why) -> selection.leaveOut(path, new Reason.Fault(why)));
        for (FoundLibrary library : search.libraries()) {
            selection.judge(library);
        }
        InstalledDriver.check(driver, selection, search);
        ProgramSearch programs = new ProgramSearch(host, machine, selection.directories());
        programs.run();
        GraphicsSearch graphics = new GraphicsSearch(host, selection.directories());
        graphics.run();
        return selection.with(programs, graphics);
    }

    private static <T> List<T> sorted(List<T> list, Comparator<T> order) {
        return list.stream().distinct().sorted(order).toList();
    }
}
