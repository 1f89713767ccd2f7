/**
 * Looks at a host and says what is wrong with it and how to mend it; changes nothing itself. Start
 * at {@link Doctor}.
 */
package jnvdocker.doctor;
