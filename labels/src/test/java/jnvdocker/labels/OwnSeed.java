package jnvdocker.labels;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A property that is not tried with the seed of the day: some seeds still fail, each for a fault of
 * the property's own model that is to be found first. {@code SEED} in the environment tries one.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface OwnSeed {}
