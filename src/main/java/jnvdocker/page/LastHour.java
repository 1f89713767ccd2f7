package jnvdocker.page;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The means of the last 60 minutes. */
final class LastHour {
    static final int MINUTES = 60;

    private final long[] minutes = new long[MINUTES];
    private final int[] sums = new int[MINUTES];
    private final int[] counts = new int[MINUTES];

    /**
     * @param minute since 1970
     */
    void add(long minute, int value) {
        int at = Math.floorMod(minute, MINUTES);
        if (minutes[at] != minute) {
            minutes[at] = minute;
            sums[at] = 0;
            counts[at] = 0;
        }
        sums[at] += value;
        counts[at]++;
    }

    /** Returns the minutes up to that one, which may not be over; null where there is no value. */
    List<Integer> until(long last) {
        List<Integer> means = new ArrayList<>();
        for (long minute = last - MINUTES + 1; minute <= last; minute++) {
            int at = Math.floorMod(minute, MINUTES);
            boolean known = minutes[at] == minute && counts[at] > 0;
            means.add(known ? (Integer) Math.round((float) sums[at] / counts[at]) : null);
        }
        return Collections.unmodifiableList(means);
    }
}
