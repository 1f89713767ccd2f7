package jnvdocker.attack;

import java.lang.annotation.ElementType;
import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * An attack or a fault that a test makes, and what comes of it. {@code tests/attacks} prints all of
 * them as a table.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.SOURCE)
@Repeatable(Attacks.class)
public @interface Attack {
    /** Who makes it, by the rights that this one has: {@code any user}, {@code a member}. */
    String by();

    /** The attack. */
    String what();

    /** What comes of it. */
    String result();
}
