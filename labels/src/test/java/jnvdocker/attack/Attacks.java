package jnvdocker.attack;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Several attacks that one class makes. */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.SOURCE)
public @interface Attacks {
    Attack[] value();
}
