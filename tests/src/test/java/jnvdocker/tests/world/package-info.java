/** The worlds that tests run in: driver roots, engines and daemons of their own. */
package jnvdocker.tests.world;
