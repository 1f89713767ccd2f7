/** Holds it all to its word: what a user could notice, against real engines and driver files. */
package jnvdocker.tests;
