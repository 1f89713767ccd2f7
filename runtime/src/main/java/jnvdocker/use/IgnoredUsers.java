package jnvdocker.use;

import jnvdocker.process.ProcessTraits;

import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Programs and images that do not count as users of a GPU: they keep the driver awake, watch it, or
 * draw the screen. A program can hide behind such a name; that is not prevented.
 */
public final class IgnoredUsers {
    private static final List<String> BUILT_IN =
            List.of(
                    "nvidia-persistenced",
                    "nvidia-powerd",
                    "nvidia-modprobe",
                    "nv-fabricmanager",
                    "nvidia-cuda-mps-control",
                    "nvidia-cuda-mps-server",
                    "nvidia-smi",
                    "nvidia-debugdump",
                    "nvidia-settings",
                    "nv-hostengine",
                    "dcgmi",
                    "dcgm-exporter",
                    "nvidia_gpu_exporter",
                    "nvtop",
                    "nvitop",
                    "gpustat",
                    "X",
                    "Xorg",
                    "Xwayland",
                    "gnome-shell",
                    "gnome-control-center",
                    "gnome-initial-setup",
                    "mutter-x11-frames",
                    "kwin_x11",
                    "kwin_wayland",
                    "plasmashell",
                    "ksmserver",
                    "kscreenlocker_greet",
                    "sddm-greeter",
                    "lightdm-gtk-greeter",
                    "cinnamon",
                    "cosmic-comp",
                    "Hyprland",
                    "gamescope",
                    "weston",
                    "sway");

    /** A name that ps shows ends here. */
    private static final int NAME_LENGTH = 15;

    private final Set<String> names;

    /**
     * @param more names of programs or images, besides the built-in ones
     */
    public IgnoredUsers(Collection<String> more) {
        names = new HashSet<>(BUILT_IN);
        names.addAll(more);
    }

    /** Matches a program by its process name, or by that of its file. */
    boolean has(ProcessTraits process) {
        return names.contains(process.program())
                || names.stream()
                        .map(name -> name.substring(0, Math.min(NAME_LENGTH, name.length())))
                        .anyMatch(process.name()::equals);
    }

    boolean hasImage(String image) {
        return new ImageNames(names).has(image);
    }
}
