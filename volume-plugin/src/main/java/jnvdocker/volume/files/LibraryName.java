package jnvdocker.volume.files;

import jnvdocker.labels.DriverVersion;

import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The owner of a library by its name. The names are those of NVIDIA's installer for Linux, drivers
 * 390 to 580.
 *
 * @param stem {@code libcuda} of {@code libcuda.so.535.104.05}
 * @param version {@code 535.104.05}, empty when there is none
 */
record LibraryName(String stem, String version) {
    private static final Pattern SPELLING =
            Pattern.compile("([A-Za-z0-9_+-][A-Za-z0-9_.+-]{0,150}?)\\.so((?:\\.[0-9]{1,9}){0,6})");

    private static final Pattern STEM_OF_DRIVER =
            Pattern.compile(
                    "libcuda|libcudadebugger|libnvcuvid|libnvoptix|(lib)?nvidia[-_].+|lib.+_nvidia");

    /** Drivers have had three digits before the dot since 2008; nothing else here has. */
    private static final Pattern VERSION_OF_DRIVER =
            Pattern.compile("[1-9][0-9]{2,3}(\\.[0-9]+){1,3}");

    /** Part of the driver, but released at a pace and with numbers of their own. */
    private static final Set<String> OWN_VERSION =
            Set.of(
                    "libnvidia-api",
                    "libnvidia-egl-gbm",
                    "libnvidia-egl-wayland",
                    "libnvidia-egl-wayland2",
                    "libnvidia-egl-xcb",
                    "libnvidia-egl-xlib",
                    "libnvidia-nvvm",
                    "libnvidia-nvvm70");

    /** Any vendor's GL goes by these names. */
    private static final Set<String> GL = Set.of("libGL", "libEGL", "libGLESv1_CM", "libGLESv2");

    private static final Set<String> X_SERVER =
            Set.of("libglx", "libglxserver_nvidia", "libnvidia-wfb", "libwfb", "nvidia_drv");

    private static final Set<String> SETTINGS =
            Set.of("libnvidia-gtk2", "libnvidia-gtk3", "libnvidia-wayland-client");

    /** The owner of a library. */
    enum Owner {
        /** A library of this driver, by its version. */
        DRIVER,
        /** A driver's part that has numbers of its own. */
        OWN_VERSION,
        /** A library of this driver if it links to one. */
        GL,
        X_SERVER,
        SETTINGS,
        OTHER_DRIVER,
        UNRELATED
    }

    /** A name that is no library's has the stem "" and is unrelated. */
    static LibraryName parse(String name) {
        Matcher matcher = SPELLING.matcher(name);
        if (!matcher.matches()) {
            return new LibraryName("", "");
        }
        String version = matcher.group(2);
        return new LibraryName(matcher.group(1), version.isEmpty() ? "" : version.substring(1));
    }

    Owner owner(DriverVersion driver) {
        boolean ours = version.equals(driver.text());
        boolean versioned = VERSION_OF_DRIVER.matcher(version).matches();
        if (X_SERVER.contains(stem) && (versioned || stem.contains("nvidia"))) {
            return Owner.X_SERVER;
        } else if (versioned && !ours && (isDriverStem() || GL.contains(stem))) {
            return Owner.OTHER_DRIVER;
        } else if (ours && SETTINGS.contains(stem)) {
            return Owner.SETTINGS;
        } else if (GL.contains(stem)) {
            return Owner.GL;
        } else if (ours) {
            return Owner.DRIVER;
        }
        return OWN_VERSION.contains(stem) ? Owner.OWN_VERSION : Owner.UNRELATED;
    }

    /** Whether a file or link of this name may be a library of the driver. */
    boolean concerns(DriverVersion driver) {
        return isDriverStem()
                || GL.contains(stem)
                || stem.equals("libGLX_indirect")
                || (!stem.isEmpty() && version.equals(driver.text()));
    }

    /** Whether a link of this name that leads nowhere means that a part of the driver is gone. */
    boolean isDriverStem() {
        return STEM_OF_DRIVER.matcher(stem).matches() && !stem.startsWith("libnvidia-container");
    }
}
