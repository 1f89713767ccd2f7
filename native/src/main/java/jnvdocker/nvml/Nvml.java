package jnvdocker.nvml;

import com.sun.jna.ptr.PointerByReference;

import jnvdocker.labels.CudaVersion;
import jnvdocker.posix.ThreadCapabilities;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * A session with a driver's NVML. Its calls may be made from any thread, and may block the thread
 * for seconds or for ever.
 */
public final class Nvml implements AutoCloseable {
    private static final int TEXT = 96;

    /** The factors in the number of a CUDA version: 12020 is 12.2. */
    private static final int MAJOR = 1000;

    private static final int MINOR = 10;

    private final LibNvml library;

    private Nvml(LibNvml library) {
        this.library = library;
    }

    /**
     * Loads the library and has it meet the driver, which takes seconds where no GPU is in
     * persistence mode.
     *
     * @throws IOException with the loader's reason when the library cannot be loaded
     * @throws NvmlException when it finds no driver, or one of another version
     */
    public static Nvml open(Path file) throws IOException, NvmlException {
        LibNvml library;
        try {
            library = LibNvml.load(file.toString());
        } catch (UnsatisfiedLinkError e) {
            throw new IOException(reason(e), e);
        }
        Nvml nvml = new Nvml(library);
        // Called by root, some versions make /dev/nvidiactl before they learn that no driver is
        // there.
        ThreadCapabilities.withoutMknod(() -> nvml.call(LibNvml::nvmlInit_v2));
        return nvml;
    }

    /** Returns the loader's own message; JNA appends the other places that it has searched. */
    private static String reason(UnsatisfiedLinkError e) {
        Throwable first = e.getSuppressed().length == 0 ? e : e.getSuppressed()[0];
        return String.valueOf(first.getMessage()).lines().findFirst().orElse("");
    }

    /** A call of the library, which returns an {@code nvmlReturn_t}. */
    @FunctionalInterface
    interface Entry {
        int of(LibNvml library);
    }

    /**
     * Makes the first of these calls for which the library has the entry point.
     *
     * @param newestFirst the versions of one entry point
     */
    void call(Entry... newestFirst) throws NvmlException {
        callUnless(NvmlException.SUCCESS, newestFirst);
    }

    /** Calls an entry point for which one more code is an answer; returns the code. */
    int callUnless(int answer, Entry... newestFirst) throws NvmlException {
        int code = result(newestFirst);
        if (code != NvmlException.SUCCESS && code != answer) {
            throw new NvmlException(code, String.valueOf(library.nvmlErrorString(code)));
        }
        return code;
    }

    /**
     * Like {@link #call}, for a field that may be missing: only a lost GPU or driver is an
     * exception.
     */
    int query(Entry... newestFirst) throws NvmlException {
        return queryUnless(NvmlException.SUCCESS, newestFirst);
    }

    /** Queries an entry point for which one of the final codes is harmless; returns the code. */
    int queryUnless(int harmless, Entry... newestFirst) throws NvmlException {
        int code = result(newestFirst);
        if (code != harmless && NvmlException.isFinal(code)) {
            throw new NvmlException(code, String.valueOf(library.nvmlErrorString(code)));
        }
        return code;
    }

    private int result(Entry... newestFirst) {
        for (Entry entry : newestFirst) {
            try {
                int code = entry.of(library);
                if (code != NvmlException.FUNCTION_NOT_FOUND) {
                    return code;
                }
            } catch (UnsatisfiedLinkError e) {
                // The driver is older than this version.
            }
        }
        return NvmlException.FUNCTION_NOT_FOUND;
    }

    /** Returns the driver's version, {@code 535.261.03}. */
    public String driverVersion() throws NvmlException {
        return text(
                TEXT, (library, bytes) -> library.nvmlSystemGetDriverVersion(bytes, bytes.length));
    }

    /**
     * The CUDA version that the driver supports, which the library gives as 12020 for 12.2; empty
     * for drivers before 390, which do not report it, and for numbers that are no version.
     */
    public Optional<CudaVersion> cudaVersion() throws NvmlException {
        OptionalInt number =
                Fields.number(
                        this, (library, value) -> library.nvmlSystemGetCudaDriverVersion(value));
        return number.isPresent() && number.getAsInt() >= MAJOR
                ? Optional.of(
                        new CudaVersion(
                                number.getAsInt() / MAJOR, number.getAsInt() % MAJOR / MINOR))
                : Optional.empty();
    }

    /**
     * Opens a GPU, which wakes it if nobody uses it.
     *
     * @param pciAddress {@code 0000:07:00.0}
     * @throws NvmlException when it is lost, or there is none
     */
    public NvmlGpu gpu(String pciAddress) throws NvmlException {
        PointerByReference handle = new PointerByReference();
        call(library -> library.nvmlDeviceGetHandleByPciBusId_v2(pciAddress, handle));
        return new NvmlGpu(this, handle.getValue());
    }

    /** A call that writes a text. */
    @FunctionalInterface
    interface TextEntry {
        int of(LibNvml library, byte[] bytes);
    }

    String text(int size, TextEntry entry) throws NvmlException {
        byte[] bytes = new byte[size];
        call(library -> entry.of(library, bytes));
        return text(bytes, 0, size);
    }

    /** Returns the text before the first NUL. */
    static String text(byte[] bytes, int offset, int size) {
        int end = offset;
        while (end < offset + size && bytes[end] != 0) {
            end++;
        }
        return new String(bytes, offset, end - offset, StandardCharsets.UTF_8);
    }

    /** Ends the session; its GPUs are not to be used any more. */
    @Override
    public void close() {
        library.nvmlShutdown();
    }
}
