package jnvdocker.docker.cli;

/** The docker commands that make a container. */
public enum Verb {
    RUN("run"),
    CREATE("create");

    private final String word;

    Verb(String word) {
        this.word = word;
    }

    /** As it is typed. */
    public String word() {
        return word;
    }
}
