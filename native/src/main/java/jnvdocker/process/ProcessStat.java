package jnvdocker.process;

/** The line of {@code /proc/<pid>/stat} (see proc_pid_stat(5)), as far as it matters. */
record ProcessStat(char state, int parent, int threads, long startTime) {
    /**
     * Fields are counted from the state, which is the third: the name before it may hold blanks.
     */
    private static final int PARENT = 4 - 3;

    private static final int THREADS = 20 - 3;

    private static final int START_TIME = 22 - 3;

    /**
     * @throws IllegalArgumentException quoting the text if it is not such a line
     */
    static ProcessStat parse(String line) {
        // The name is in parentheses and may contain some itself; none follow it.
        String[] fields = line.substring(line.lastIndexOf(')') + 1).strip().split(" ");
        try {
            return new ProcessStat(
                    fields[0].charAt(0),
                    Integer.parseInt(fields[PARENT]),
                    Integer.parseInt(fields[THREADS]),
                    Long.parseLong(fields[START_TIME]));
        } catch (NumberFormatException | IndexOutOfBoundsException e) {
            throw new IllegalArgumentException("not a line of stat: '" + line + "'", e);
        }
    }

    /** Whether a signal, or its tracer, has stopped it. */
    boolean isStopped() {
        return state == 'T' || state == 't';
    }

    /**
     * Whether it is dead. A process of which only the first thread has ended has the state of a
     * zombie, but is not dead.
     */
    boolean isDead() {
        return switch (state) {
            case 'X', 'x' -> true;
            case 'Z' -> threads <= 1;
            default -> false;
        };
    }

    /** Whether its first thread has ended, and others have not. */
    boolean hasDeadLeader() {
        return state == 'Z' && threads > 1;
    }
}
