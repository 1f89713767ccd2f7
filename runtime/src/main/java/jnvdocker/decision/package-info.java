/**
 * Reports what was decided: {@link DecisionLog} writes each lease that begins or ends, and each
 * refusal, to the log and to its listeners. Refusals are counted by {@link RefusalReason}, and the
 * last ones of each user are kept.
 */
package jnvdocker.decision;
