/** The worlds that tests run in: driver roots, engines, daemons of their own. */
package jnvdocker.tests.world;
