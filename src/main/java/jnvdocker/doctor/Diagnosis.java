package jnvdocker.doctor;

/** A finding, and the check that has made it. */
public record Diagnosis(String check, Finding finding) {}
