/**
 * Reads what an image asks for out of an archive ({@code docker save}), which may be hostile: every
 * part has a bound. Start at {@link ImageArchive}.
 */
package jnvdocker.archive;
