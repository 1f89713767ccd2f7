package jnvdocker.docker.engine;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;

import jnvdocker.json.ForeignJson;
import jnvdocker.lease.text.ContainerLabels;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Semaphore;

/**
 * Reads the JSON of an engine, in which any member of the group {@code docker} can have containers
 * described at any length. Only the members that leases need are read, and long strings are cut
 * off, so that no container hides others. The limit of each query bounds the rest. Long answers
 * take turns, and short ones don't wait for them.
 */
final class EngineJson extends JsonFactory {
    private static final long serialVersionUID = 1L;

    private static final int SHORT = 64 << 10;

    /**
     * What is read of an object with one of these names. Others are of names that an engine's
     * administrator chose, and are read whole.
     */
    private static final Map<String, Set<String>> READ =
            Map.ofEntries(
                    Map.entry("Actor", Set.of("Attributes", "ID")),
                    Map.entry("Components", Set.of("Name", "Version")),
                    Map.entry("Config", Set.of("Env", "Image", "Labels")),
                    Map.entry("Devices", Set.of("CgroupPermissions", "PathOnHost")),
                    Map.entry(
                            "DeviceRequests",
                            Set.of("Capabilities", "Count", "DeviceIDs", "Driver")),
                    Map.entry(
                            "HostConfig",
                            Set.of(
                                    "AutoRemove",
                                    "DeviceCgroupRules",
                                    "DeviceRequests",
                                    "Devices",
                                    "Privileged",
                                    "RestartPolicy",
                                    "Runtime")),
                    Map.entry("Mounts", Set.of("Driver", "Name", "Source")),
                    Map.entry("RestartPolicy", Set.of("Name")),
                    Map.entry(
                            "State", Set.of("Error", "FinishedAt", "Pid", "Restarting", "Running")),
                    Map.entry("Volumes", Set.of("Name")));

    /** What is read of an answer, and of each object of a list. */
    private static final Set<String> WHOLE =
            Set.of(
                    "Action",
                    "Actor",
                    "CgroupDriver",
                    "Components",
                    "Config",
                    "DefaultRuntime",
                    "DockerRootDir",
                    "Driver",
                    "HostConfig",
                    "ID",
                    "Id",
                    "Image",
                    "Labels",
                    "Mounts",
                    "Name",
                    "Names",
                    "RepoTags",
                    "Runtimes",
                    "SecurityOptions",
                    "ServerVersion",
                    "State",
                    "Type",
                    "Volumes");

    private final transient Semaphore turn = new Semaphore(1);

    EngineJson() {
        super(ForeignJson.factory());
    }

    @Override
    public JsonParser createParser(InputStream in) throws IOException {
        Answer answer = new Answer(in);
        return ForeignJson.filtered(
                super.createParser(new ClippedStrings(answer)), EngineJson::isRead, answer::finish);
    }

    private static boolean isRead(String parent, String member) {
        return switch (parent) {
            case null -> WHOLE.contains(member);
            case "Labels" -> ContainerLabels.areRead(member) || member.equals(TrialContainer.LABEL);
            // An event's attributes: the labels of its container, and the container's name.
            case "Attributes" -> member.equals("name") || ContainerLabels.areRead(member);
            default -> !READ.containsKey(parent) || READ.get(parent).contains(member);
        };
    }

    /**
     * The bytes of one answer, or of one event after the other; {@link ClippedStrings} reads many
     * at once.
     */
    private final class Answer extends FilterInputStream {
        private long count;
        private boolean hasTurn;

        Answer(InputStream in) {
            super(in);
        }

        @Override
        public int read(byte[] into, int offset, int most) throws IOException {
            int more = super.read(into, offset, most);
            count += Math.max(more, 0);
            if (count > SHORT && !hasTurn) {
                try {
                    turn.acquire();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new InterruptedIOException("other long answers take too long");
                }
                hasTurn = true;
            }
            return more;
        }

        void finish() {
            count = 0;
            if (hasTurn) {
                hasTurn = false;
                turn.release();
            }
        }

        @Override
        public void close() throws IOException {
            finish();
            super.close();
        }
    }
}
