/** Tests of everything that a user could notice, against real engines and driver files. */
package jnvdocker.tests;
