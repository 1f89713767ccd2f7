/** What {@code tests/bench} measures: two things in one run, in turn, so that noise meets both. */
package jnvdocker.tests.bench;
