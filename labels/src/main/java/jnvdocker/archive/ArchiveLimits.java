package jnvdocker.archive;

/**
 * How much of an archive is read. The daemon has little memory and serves all users, and each of
 * its users may hand it any file.
 *
 * @param total bytes of the archive when it is unpacked, layers included; those are only passed by
 * @param entries of the archive
 * @param headers bytes of names and other headers before one entry
 * @param document bytes of one JSON document
 * @param documents bytes in memory of all those that are kept until it is known which are needed
 * @param unsuspicious bytes that may be unpacked before the ratio counts
 * @param ratio of unpacked to packed bytes
 */
record ArchiveLimits(
        long total,
        int entries,
        int headers,
        int document,
        long documents,
        long unsuspicious,
        int ratio) {
    static final ArchiveLimits STANDARD =
            new ArchiveLimits(64L << 30, 100_000, 1 << 20, 4 << 20, 16L << 20, 1L << 30, 200);
}
