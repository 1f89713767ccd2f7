package jnvdocker.doctor;

/** A finding, and the check that made it. */
public record Diagnosis(String check, Finding finding) {}
