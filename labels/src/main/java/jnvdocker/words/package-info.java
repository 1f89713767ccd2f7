/**
 * Words for people, used everywhere: how strange text is shown, how long something lasts, which
 * GPUs are meant, and what is wrong and what to do about it. Start at {@link Refusal}.
 */
package jnvdocker.words;
