package jnvdocker.mesos.launch;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;

/** Writes a container's configuration as an agent does. */
final class TestingConfig {
    private final ByteString.Output bytes = ByteString.newOutput();
    private final CodedOutputStream out = CodedOutputStream.newInstance(bytes);

    private TestingConfig() {}

    static TestingConfig of() {
        return new TestingConfig();
    }

    TestingConfig resource(String name, double value) throws IOException {
        ByteString.Output scalar = ByteString.newOutput();
        CodedOutputStream in = CodedOutputStream.newInstance(scalar);
        in.writeDouble(1, value);
        in.flush();
        ByteString.Output resource = ByteString.newOutput();
        in = CodedOutputStream.newInstance(resource);
        in.writeString(1, name);
        in.writeBytes(3, scalar.toByteString());
        in.flush();
        out.writeBytes(13, resource.toByteString());
        return this;
    }

    TestingConfig text(int field, String value) throws IOException {
        out.writeString(field, value);
        return this;
    }

    byte[] file() throws IOException {
        out.flush();
        byte[] message = bytes.toByteString().toByteArray();
        return ByteBuffer.allocate(4 + message.length)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(message.length)
                .put(message)
                .array();
    }

    /**
     * @param directory the agent's directory for the container
     */
    void write(Path directory) throws IOException {
        Files.createDirectories(directory);
        Files.write(directory.resolve("config"), file());
    }
}
