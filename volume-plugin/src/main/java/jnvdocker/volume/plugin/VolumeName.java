package jnvdocker.volume.plugin;

import jnvdocker.labels.DriverVersion;
import jnvdocker.volume.DriverVolume;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A volume's name as nvidia-docker 1.0 forms it: {@code <kind>_<version>}. dockerd passes on
 * whatever a client of its API says, so a name is checked before anything else is done with it.
 */
record VolumeName(String kind, String version) {
    /** The remedy for a name that is none of ours. */
    static final String USE = "use " + DriverVolume.KIND + "_<version>";

    private static final Pattern SPELLING = Pattern.compile("([a-zA-Z0-9_.-]+)_([0-9.]+)");

    /**
     * @throws RefusedException in nvidia-docker 1.0's words, when the name is not of this form
     */
    static VolumeName parse(String name) throws RefusedException {
        Matcher matcher = SPELLING.matcher(name);
        if (!matcher.matches()) {
            throw bad(Quote.shown(name));
        }
        return new VolumeName(matcher.group(1), matcher.group(2));
    }

    /**
     * @throws RefusedException when what should be the version is none
     */
    DriverVersion driverVersion() throws RefusedException {
        try {
            return DriverVersion.parse(version);
        } catch (IllegalArgumentException e) {
            throw bad(toString());
        }
    }

    private static RefusedException bad(String name) {
        return new RefusedException("bad volume format: " + name, USE);
    }

    @Override
    public String toString() {
        return kind + "_" + version;
    }
}
