package jnvdocker.volume.plugin;

import jnvdocker.labels.DriverVersion;
import jnvdocker.volume.DriverVolume;
import jnvdocker.words.Quote;

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
     * @throws VolumeException in nvidia-docker 1.0's words, when the name is not of this form
     */
    static VolumeName parse(String name) throws VolumeException {
        Matcher matcher = SPELLING.matcher(name);
        if (!matcher.matches()) {
            throw bad(Quote.shown(name), null);
        }
        return new VolumeName(matcher.group(1), matcher.group(2));
    }

    /**
     * @throws VolumeException when what should be the version is none
     */
    DriverVersion driverVersion() throws VolumeException {
        try {
            return DriverVersion.parse(version);
        } catch (IllegalArgumentException e) {
            throw bad(toString(), e);
        }
    }

    private static VolumeException bad(String name, Exception cause) {
        return new VolumeException("bad volume format: " + name, USE, cause);
    }

    @Override
    public String toString() {
        return kind + "_" + version;
    }
}
