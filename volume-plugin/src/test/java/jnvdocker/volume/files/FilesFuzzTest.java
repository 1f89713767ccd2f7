package jnvdocker.volume.files;

import jnvdocker.labels.Mutations;

import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;

/** Damaged files are recognized as such; none causes another error or takes unlimited memory. */
class FilesFuzzTest {
    @Property(tries = 8_000, seed = "3")
    void everyLoaderCacheIsReadOrFoundDamaged(@ForAll("caches") byte[] bytes) {
        try {
            LdCache.parse(ByteBuffer.wrap(bytes));
        } catch (MalformedFileException e) {
            // As expected.
        }
    }

    @Provide
    Arbitrary<byte[]> caches() {
        byte[] cache =
                TestingLdCache.bytes(
                        List.of(
                                TestingLdCache.entry("libcuda.so.1", "/usr/lib/libcuda.so.1"),
                                TestingLdCache.entry("libc.so.6", "/lib/libc.so.6")));
        return Mutations.of(List.of(cache, TestingLdCache.afterOldCache(cache, 3)));
    }

    @Property(tries = 8_000, seed = "4")
    void everyElfFileIsReadOrFoundDamaged(@ForAll("libraries") byte[] bytes) {
        try {
            TestingElf.parse(bytes);
        } catch (IOException e) {
            // As expected.
        }
    }

    @Provide
    Arbitrary<byte[]> libraries() {
        return Mutations.of(
                List.of(
                        TestingElf.library("libcuda.so.1").needs("libc.so.6", "libm.so.6").bytes(),
                        TestingElf.library("libold.so").i386().bytes(),
                        TestingElf.library("libfar.so").bigEndian().bytes()));
    }
}
