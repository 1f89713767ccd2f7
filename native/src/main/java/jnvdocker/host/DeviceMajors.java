package jnvdocker.host;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/** The majors of character devices, by name. */
public final class DeviceMajors {
    /** The major of GPUs and of nvidiactl, which a host without a driver does not list. */
    public static final int NVIDIA = 195;

    private DeviceMajors() {}

    static Map<String, Integer> read(Host host) throws IOException {
        return parse(KernelText.read(host.resolve("/proc/devices")));
    }

    /** Parses the character devices in the text of {@code /proc/devices}. */
    static Map<String, Integer> parse(String text) {
        Map<String, Integer> majors = new HashMap<>();
        boolean characters = false;
        for (String line : text.split("\n")) {
            if (line.endsWith(":")) {
                characters = line.startsWith("Character");
                continue;
            }
            String[] words = line.strip().split("\\s+");
            if (characters && words.length == 2 && words[0].matches("[0-9]{1,4}")) {
                majors.putIfAbsent(words[1], Integer.parseInt(words[0]));
            }
        }
        return majors;
    }
}
