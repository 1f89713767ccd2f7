/** The notices of what is shipped and was written by others, made when jnvdocker is built. */
package jnvdocker.notices;
