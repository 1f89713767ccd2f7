/**
 * The measurements of {@code tests/bench}: each compares two things in one run, in turn, so that
 * noise affects both.
 */
package jnvdocker.tests.bench;
