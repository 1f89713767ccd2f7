package jnvdocker.archive;

import jnvdocker.labels.ImageConfig;

/**
 * An image out of an archive.
 *
 * @param name the first of those it has in the archive, or the beginning of its id
 */
public record ArchivedImage(String name, Platform platform, ImageConfig config) {}
