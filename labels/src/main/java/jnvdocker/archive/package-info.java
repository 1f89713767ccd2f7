/**
 * Reads the needs of an image from an archive ({@code docker save}), which may be hostile: every
 * part has a bound. Start at {@link ImageArchive}.
 */
package jnvdocker.archive;
