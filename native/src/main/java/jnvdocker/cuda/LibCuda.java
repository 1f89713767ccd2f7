package jnvdocker.cuda;

import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.ptr.IntByReference;

/** The one call of libcuda that needs neither a GPU nor cuInit. */
interface LibCuda extends Library {
    int SUCCESS = 0;

    /**
     * @throws UnsatisfiedLinkError with the loader's reason when the library cannot be loaded
     */
    static LibCuda load(String file) {
        return Native.load(file, LibCuda.class);
    }

    int cuDriverGetVersion(IntByReference version);
}
