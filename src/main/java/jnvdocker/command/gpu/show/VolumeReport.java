package jnvdocker.command.gpu.show;

import jnvdocker.protocol.ExitCode;
import jnvdocker.screen.Column;
import jnvdocker.screen.Screen;
import jnvdocker.screen.Shown;
import jnvdocker.screen.TextTable;
import jnvdocker.volume.DriverVolume;
import jnvdocker.volume.ServedVolumes;
import jnvdocker.words.Refusal;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A driver volume, as programs and people read it.
 *
 * @param directory the directory of the volume
 * @param served the directory that containers get
 * @param writable the reason why containers can write to that; null when they cannot
 * @param bytes the size of all files together
 * @param problems the faults found in it; null unless it was verified
 */
record VolumeReport(
        String volume,
        String driver,
        String directory,
        String served,
        String writable,
        long bytes,
        List<File> files,
        List<Link> links,
        List<LeftOut> leftOut,
        List<String> problems)
        implements Shown {
    /**
     * @param path its path in the volume
     * @param cloned how the file was made there
     * @param source its path on the host
     */
    record File(String path, long bytes, String cloned, String source) {}

    /**
     * @param path its path in the volume
     */
    record Link(String path, String target) {}

    /**
     * @param path its path on the host
     */
    record LeftOut(String path, String why) {}

    static VolumeReport of(
            DriverVolume volume, ServedVolumes.Served served, Optional<List<String>> problems) {
        return new VolumeReport(
                DriverVolume.name(volume.version()),
                volume.version().text(),
                volume.path().toString(),
                served.path().toString(),
                served.copied().map(Refusal::message).orElse(null),
                volume.bytes(),
                volume.manifest().contents().stream()
                        .map(file ->
                                new File(
                                        file.path(),
                                        file.size(),
                                        file.cloned().toString(),
                                        file.source()))
                        .toList(),
                volume.manifest().links().stream()
                        .map(link -> new Link(link.directory() + "/" + link.name(), link.target()))
                        .toList(),
                volume.manifest().leftOut().stream()
                        .map(file -> new LeftOut(file.path(), file.reason().words()))
                        .toList(),
                problems.orElse(null));
    }

    @Override
    public Object document() {
        return this;
    }

    @Override
    public List<String> lines(Screen screen) {
        List<String> lines = new ArrayList<>(summary());
        lines.add("");
        if (problems == null) {
            lines.addAll(new TextTable<>(FILES).lines(rows(), screen));
            lines.add("");
            lines.addAll(new TextTable<>(LEFT_OUT).lines(leftOut, screen));
        } else if (problems.isEmpty()) {
            lines.add("verified: every file is the host's and every link leads to one");
        } else {
            problems.forEach(problem -> lines.add("wrong: " + problem));
            lines.add(ServedVolumes.REMAKE);
        }
        return lines;
    }

    @Override
    public ExitCode exitCode() {
        return problems == null || problems.isEmpty() ? ExitCode.OK : ExitCode.WRONG;
    }

    private List<String> summary() {
        Map<String, Long> cloned =
                files.stream()
                        .collect(
                                Collectors.groupingBy(
                                        File::cloned, TreeMap::new, Collectors.counting()));
        return List.of(
                "Volume:      " + volume,
                "Directory:   " + directory,
                "Served:      "
                        + served
                        + (writable == null
                                ? ", read-only for everybody"
                                : ", writable: " + writable),
                "Files:       %d, %,d bytes (%s)"
                        .formatted(
                                files.size(),
                                bytes,
                                cloned.entrySet().stream()
                                        .map(way -> way.getValue() + " by " + way.getKey())
                                        .collect(Collectors.joining(", "))),
                "Links:    " + links.size(),
                "Left out: " + leftOut.size());
    }

    /** A file, or a link. */
    private record Row(String path, Object bytes, String cloned, String from) {}

    private List<Row> rows() {
        return Stream.concat(
                        files.stream().map(it -> new Row(it.path, it.bytes, it.cloned, it.source)),
                        links.stream().map(it -> new Row(it.path, "-", "link to", it.target)))
                .toList();
    }

    private static final List<Column<Row>> FILES =
            List.of(
                    Column.of("FILE", Row::path),
                    Column.of("BYTES", Row::bytes),
                    Column.of("CLONED", Row::cloned),
                    Column.of("FROM", Row::from));

    private static final List<Column<LeftOut>> LEFT_OUT =
            List.of(Column.of("LEFT OUT", LeftOut::path), Column.note("WHY", LeftOut::why));
}
