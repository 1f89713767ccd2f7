/**
 * Examines a host, reports its faults and how to fix them; changes nothing itself. Start at {@link
 * Doctor}.
 */
package jnvdocker.doctor;
