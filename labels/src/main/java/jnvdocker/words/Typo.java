package jnvdocker.words;

import java.util.Collection;
import java.util.List;

/** Finds the words that somebody may have meant who mistyped one. */
public final class Typo {
    private Typo() {}

    /**
     * Returns the words of which the typed one differs by one slip: a letter too many, too few, or
     * another, or two neighbours that are swapped.
     */
    public static List<String> of(String typed, Collection<String> words) {
        return words.stream().filter(word -> isSlip(typed, word)).sorted().distinct().toList();
    }

    private static boolean isSlip(String typed, String word) {
        int shorter = Math.min(typed.length(), word.length());
        int same = 0;
        while (same < shorter && typed.charAt(same) == word.charAt(same)) {
            same++;
        }
        String typedRest = typed.substring(same);
        String wordRest = word.substring(same);
        if (typedRest.isEmpty() || wordRest.isEmpty()) {
            return typedRest.length() + wordRest.length() == 1;
        }
        return typedRest.substring(1).equals(wordRest)
                || wordRest.substring(1).equals(typedRest)
                || typedRest.substring(1).equals(wordRest.substring(1))
                || isSwapped(typedRest, wordRest);
    }

    private static boolean isSwapped(String typed, String word) {
        return typed.length() > 1
                && word.length() > 1
                && typed.charAt(0) == word.charAt(1)
                && typed.charAt(1) == word.charAt(0)
                && typed.substring(2).equals(word.substring(2));
    }
}
