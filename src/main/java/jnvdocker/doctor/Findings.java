package jnvdocker.doctor;

import jnvdocker.words.Refusal;

import java.util.ArrayList;
import java.util.List;

/**
 * The findings of a check: at least that all is well, unless the check does not concern this host.
 */
final class Findings {
    private final List<Finding> all = new ArrayList<>();

    List<Finding> all() {
        return List.copyOf(all);
    }

    boolean isEmpty() {
        return all.isEmpty();
    }

    void add(Finding finding) {
        all.add(finding);
    }

    void ok(String what) {
        add(new Finding(Finding.State.OK, what, ""));
    }

    void okIfNothingElse(String what) {
        if (all.isEmpty()) {
            ok(what);
        }
    }

    void wrong(String what, String remedy) {
        add(new Finding(Finding.State.WRONG, what, remedy));
    }

    void wrong(Refusal why) {
        wrong(why.what(), why.remedy().orElse(""));
    }

    /** Adds the failure, and what to do if the exception says that. */
    void wrong(Exception e) {
        wrong(Finding.refusal(e));
    }

    void hint(String what, String remedy) {
        add(new Finding(Finding.State.HINT, what, remedy));
    }

    void hint(Refusal why) {
        hint(why.what(), why.remedy().orElse(""));
    }

    void unknown(String why) {
        add(new Finding(Finding.State.UNKNOWN, why, ""));
    }
}
