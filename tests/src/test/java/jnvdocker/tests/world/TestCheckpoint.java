package jnvdocker.tests.world;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The file in which a kubelet keeps the devices of containers; the checksum is not a real one. */
final class TestCheckpoint {
    private TestCheckpoint() {}

    static void write(
            Path file,
            List<TestKubelet.Allocation> allocations,
            Map<String, Set<String>> registered) {
        ObjectNode all = JsonNodeFactory.instance.objectNode();
        ObjectNode data = all.putObject("Data");
        ArrayNode entries = data.putArray("PodDeviceEntries");
        for (TestKubelet.Allocation allocation : allocations) {
            ObjectNode entry = entries.addObject();
            entry.put("PodUID", allocation.pod().uid());
            entry.put("ContainerName", allocation.container());
            entry.put("ResourceName", allocation.resource());
            ArrayNode ids = entry.putObject("DeviceIDs").putArray("-1");
            allocation.ids().forEach(ids::add);
            entry.put(
                    "AllocResp",
                    Base64.getEncoder().encodeToString(allocation.answer().toByteArray()));
        }
        ObjectNode resources = data.putObject("RegisteredDevices");
        registered.forEach((resource, ids) -> {
            ArrayNode list = resources.putArray(resource);
            ids.forEach(list::add);
        });
        all.put("Checksum", 1);
        try {
            Path part = file.resolveSibling("." + file.getFileName() + ".part");
            Files.writeString(part, all.toString());
            Files.move(part, file, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
