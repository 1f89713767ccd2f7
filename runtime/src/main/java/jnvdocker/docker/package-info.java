/** Docker: its command line and its engine. */
package jnvdocker.docker;
