/**
 * The page that browsers show, its data over time, and the same for a terminal. Start at {@link
 * jnvdocker.page.Chart}. The page itself is in {@code src/main/page}: plain modules of JavaScript,
 * whose types the tests check, and no library. It has two drawings, bars on a canvas and a line of
 * sixty points, and rows that are changed in place; that takes fewer lines than the use of a
 * library for charts and one for elements, needs no node to build, and ships nobody else's code.
 */
package jnvdocker.page;
