/**
 * Tables, colours and what is longer than a frame, for a terminal or for none. Start at {@link
 * TextTable}.
 */
package jnvdocker.screen;
