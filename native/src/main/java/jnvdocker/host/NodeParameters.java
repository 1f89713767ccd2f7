package jnvdocker.host;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** The driver's settings for its nodes, from {@code /proc/driver/nvidia/params}. */
record NodeParameters(boolean modifyDeviceFiles, int uid, int gid, int mode) {
    /** The driver's behaviour without any setting. */
    static final NodeParameters DEFAULT = new NodeParameters(true, 0, 0, 0666);

    static NodeParameters read(Host host) throws IOException {
        Path file = host.resolve("/proc/driver/nvidia/params");
        return Files.exists(file) ? parse(KernelText.read(file)) : DEFAULT;
    }

    static NodeParameters parse(String text) {
        Map<String, Integer> values = new HashMap<>();
        for (String line : text.split("\n")) {
            String[] words = line.split(":", 2);
            if (words.length == 2 && words[1].strip().matches("[0-9]{1,9}")) {
                values.put(words[0].strip(), Integer.parseInt(words[1].strip()));
            }
        }
        return new NodeParameters(
                values.getOrDefault("ModifyDeviceFiles", 1) != 0,
                values.getOrDefault("DeviceFileUID", DEFAULT.uid()),
                values.getOrDefault("DeviceFileGID", DEFAULT.gid()),
                values.getOrDefault("DeviceFileMode", DEFAULT.mode()) & 0777);
    }
}
