/**
 * The man pages and the site, made of the commands' own specifications and the manual when
 * jnvdocker is built.
 */
package jnvdocker.manual;
