package jnvdocker.doctor;

import jnvdocker.words.Refusal;

import java.util.ArrayList;
import java.util.List;

/**
 * The findings of a check: at least that all is well, unless the check does not concern this host.
 */
public final class Findings {
    private final List<Finding> all = new ArrayList<>();

    public List<Finding> all() {
        return List.copyOf(all);
    }

    public boolean isEmpty() {
        return all.isEmpty();
    }

    public void add(Finding finding) {
        all.add(finding);
    }

    public void ok(String what) {
        add(new Finding(Finding.State.OK, what, ""));
    }

    public void okIfNothingElse(String what) {
        if (all.isEmpty()) {
            ok(what);
        }
    }

    public void wrong(String what, String remedy) {
        add(new Finding(Finding.State.WRONG, what, remedy));
    }

    public void wrong(Refusal why) {
        wrong(why.what(), why.remedy().orElse(""));
    }

    /** Adds the failure, and what to do if the exception says that. */
    public void wrong(Exception e) {
        wrong(Finding.refusal(e));
    }

    public void hint(String what, String remedy) {
        add(new Finding(Finding.State.HINT, what, remedy));
    }

    public void hint(Refusal why) {
        hint(why.what(), why.remedy().orElse(""));
    }

    public void unknown(String why) {
        add(new Finding(Finding.State.UNKNOWN, why, ""));
    }
}
