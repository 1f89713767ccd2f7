package jnvdocker.doctor;

import java.io.IOException;
import java.util.List;

/** A check of one thing. Every query that it sends to a program or an engine has a time limit. */
interface Check {
    /** Returns the subject of the check, in a word. */
    String name();

    /**
     * Returns at least one finding: that all is well is a finding, too.
     *
     * @throws IOException when the check is impossible, which proves nothing about the host
     */
    List<Finding> findings() throws IOException;
}
