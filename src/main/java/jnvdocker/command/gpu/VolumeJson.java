package jnvdocker.command.gpu;

import jnvdocker.volume.DriverVolume;
import jnvdocker.volume.ServedVolumes;
import jnvdocker.words.Refusal;

import java.util.List;
import java.util.Optional;

/**
 * A driver volume as programs read it.
 *
 * @param folder the directory of the volume
 * @param served the directory that containers get
 * @param writable the reason why containers can write to that; null when they cannot
 * @param bytes the size of all files together
 * @param problems the faults found in it; null unless it was verified
 */
record VolumeJson(
        String volume,
        String driver,
        String folder,
        String served,
        String writable,
        long bytes,
        List<File> files,
        List<Link> links,
        List<LeftOut> leftOut,
        List<String> problems) {

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

    static VolumeJson of(
            DriverVolume volume, ServedVolumes.Served served, Optional<List<String>> problems) {
        return new VolumeJson(
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
                        .map(link -> new Link(link.folder() + "/" + link.name(), link.target()))
                        .toList(),
                volume.manifest().leftOut().stream()
                        .map(file -> new LeftOut(file.path(), file.reason().words()))
                        .toList(),
                problems.orElse(null));
    }
}
