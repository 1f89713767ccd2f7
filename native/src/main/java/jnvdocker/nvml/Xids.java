package jnvdocker.nvml;

import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The errors, by their numbers in NVIDIA's list of Xids, after which a GPU is not to be trusted
 * before its next reset, and those that say nothing of the GPU.
 */
final class Xids {
    static final int OFF_THE_BUS = 79;

    private static final Map<Integer, String> SERIOUS =
            Map.ofEntries(
                    Map.entry(46, "the GPU stopped processing"),
                    Map.entry(48, "a double-bit memory error"),
                    Map.entry(62, "its microcontroller halted"),
                    Map.entry(64, "a page or row of its memory could not be taken out of use"),
                    Map.entry(74, "an NVLink error"),
                    Map.entry(OFF_THE_BUS, "it fell off the bus"),
                    Map.entry(92, "many single-bit memory errors"),
                    Map.entry(94, "an uncorrected, contained memory error"),
                    Map.entry(95, "an uncorrected, uncontained memory error"),
                    Map.entry(110, "a security fault"),
                    Map.entry(119, "its GSP does not answer"),
                    Map.entry(120, "an error of its GSP"),
                    Map.entry(136, "its links could not be trained"),
                    Map.entry(140, "an unrecovered memory error"),
                    Map.entry(143, "it could not be initialized"));

    /**
     * The faults of programs, which NVIDIA's device plugin skips as well; 69, which is like 13; and
     * 63, the record that a page or row is to be taken out of use: {@link GpuFigures.Errors} says
     * until when.
     */
    private static final Set<Integer> OF_PROGRAMS = Set.of(13, 31, 43, 45, 63, 68, 69, 109);

    private Xids() {}

    static boolean isOfPrograms(int xid) {
        return OF_PROGRAMS.contains(xid);
    }

    /** In words; empty for one that is not serious. */
    static Optional<String> serious(int xid) {
        return Optional.ofNullable(SERIOUS.get(xid));
    }
}
