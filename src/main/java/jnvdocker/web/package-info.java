/**
 * Answers questions over HTTP, which change nothing. Start at {@link jnvdocker.web.WebPages}, which
 * says what an answer is.
 */
package jnvdocker.web;
