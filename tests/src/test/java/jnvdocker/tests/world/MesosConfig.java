package jnvdocker.tests.world;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Map;

/** Writes an agent's checkpoint of a container, a message {@code ContainerConfig}. */
final class MesosConfig {
    private static final int SCALAR = 0;
    private static final int SET = 2;
    private static final int DEBUG = 1;

    /** Writes the fields of a message. */
    private interface Fields {
        void write(CodedOutputStream out) throws IOException;
    }

    private MesosConfig() {}

    /** The bytes of the file: the message, preceded by its length. */
    static byte[] of(MesosTask task, String sandbox, String rootfs, boolean command) {
        byte[] message =
                message(out -> {
                    out.writeString(3, sandbox);
                    out.writeString(4, task.user());
                    if (task.hasImage()) {
                        out.writeString(5, rootfs);
                        put(out, 7, docker -> put(docker, 1, manifest -> manifest(manifest, task)));
                    }
                    if (command) {
                        put(out, 9, info -> taskInfo(info, task));
                    }
                    put(out, 11, info -> commandInfo(info, task));
                    for (Map.Entry<String, Double> scalar : task.scalars().entrySet()) {
                        put(out, 13, resource -> scalar(resource, scalar));
                    }
                    if (!task.uuids().isEmpty()) {
                        put(out, 13, resource -> set(resource, "gpu_uuids", task.uuids()));
                    }
                    if (task.isDebug()) {
                        out.writeEnum(14, DEBUG);
                    }
                });
        return ByteBuffer.allocate(4 + message.length)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(message.length)
                .put(message)
                .array();
    }

    private static void manifest(CodedOutputStream out, MesosTask task) throws IOException {
        out.writeString(1, "test");
        for (int field : new int[] {6, 9}) {
            put(out, field, config -> imageConfig(config, task));
        }
    }

    private static void imageConfig(CodedOutputStream out, MesosTask task) throws IOException {
        for (String variable : task.imageVariables()) {
            out.writeString(3, variable);
        }
        for (Map.Entry<String, String> label : task.labels().entrySet()) {
            put(
                    out,
                    9,
                    entry -> {
                        entry.writeString(1, label.getKey());
                        entry.writeString(2, label.getValue());
                    });
        }
    }

    private static void taskInfo(CodedOutputStream out, MesosTask task) throws IOException {
        out.writeString(1, task.name());
        put(out, 2, id -> id.writeString(1, task.name()));
    }

    private static void commandInfo(CodedOutputStream out, MesosTask task) throws IOException {
        out.writeString(3, task.command());
    }

    private static void scalar(CodedOutputStream out, Map.Entry<String, Double> scalar)
            throws IOException {
        out.writeString(1, scalar.getKey());
        out.writeEnum(2, SCALAR);
        put(out, 3, value -> value.writeDouble(1, scalar.getValue()));
    }

    private static void set(CodedOutputStream out, String name, List<String> items)
            throws IOException {
        out.writeString(1, name);
        out.writeEnum(2, SET);
        put(
                out,
                5,
                value -> {
                    for (String item : items) {
                        value.writeString(1, item);
                    }
                });
    }

    private static void put(CodedOutputStream out, int field, Fields fields) throws IOException {
        out.writeBytes(field, ByteString.copyFrom(message(fields)));
    }

    private static byte[] message(Fields fields) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try {
            CodedOutputStream out = CodedOutputStream.newInstance(bytes);
            fields.write(out);
            out.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }
}
