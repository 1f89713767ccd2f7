package jnvdocker.claim;

/**
 * The fate of a volume of ours that may be of no use any more.
 *
 * @param removed whether it was removed or, in a dry run, would be
 * @param freed bytes that the disk gets back; 0 when it is kept
 * @param why it is removed or kept, for people
 */
public record Pruned(String volume, boolean removed, long freed, String why) {

    public static Pruned kept(String volume, String why) {
        return new Pruned(volume, false, 0, why);
    }
}
