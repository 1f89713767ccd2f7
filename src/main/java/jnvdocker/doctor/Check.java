package jnvdocker.doctor;

import java.io.IOException;
import java.util.List;

/** One thing to look at. Every question that it asks a program or an engine has a limit. */
interface Check {
    /** What is looked at, in a word. */
    String name();

    /**
     * What is found, at least one thing: that all is well is a finding, too.
     *
     * @throws IOException when it cannot be looked at, which says nothing of the host
     */
    List<Finding> look() throws IOException;
}
