/**
 * Words for people, used everywhere: how strange text is shown, how long something lasts, and a
 * refusal. Start at {@link Quote}.
 */
package jnvdocker.words;
