/** Looks at a host and says what is wrong with it and how to mend it; changes nothing itself. */
package jnvdocker.doctor;
