/**
 * The man pages, made of the commands' own specifications and the manual when jnvdocker is built.
 */
package jnvdocker.manual;
