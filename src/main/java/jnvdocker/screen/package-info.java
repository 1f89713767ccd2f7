/**
 * Tables, colours and output longer than a frame, with or without a terminal. Start at {@link
 * TextTable}.
 */
package jnvdocker.screen;
