/** What an image asks for. No I/O. */
package jnvdocker.labels;
