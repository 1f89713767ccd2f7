package jnvdocker.screen;

/** Computes how many columns characters take on a terminal: two for East Asian ones and emoji. */
final class CharacterWidth {
    /** Wide or full-width in Unicode's East Asian Width, as wcwidth(3) has them. */
    private static final int[][] WIDE = {
        {0x1100, 0x115f}, // Hangul that begins a syllable
        {0x2e80, 0x303e}, // radicals of Han, punctuation
        {0x3041, 0x33ff}, // Hiragana, Katakana, Bopomofo
        {0x3400, 0x4dbf}, // Han
        {0x4e00, 0x9fff}, // Han
        {0xa000, 0xa4cf}, // Yi
        {0xa960, 0xa97f}, // Hangul
        {0xac00, 0xd7a3}, // Hangul
        {0xf900, 0xfaff}, // Han
        {0xfe30, 0xfe6f}, // punctuation
        {0xff01, 0xff60}, // full-width forms
        {0xffe0, 0xffe6}, // full-width signs
        {0x20000, 0x3fffd}, // Han
    };

    private CharacterWidth() {}

    static int of(String text) {
        return text.codePoints().map(CharacterWidth::of).sum();
    }

    /** Returns as much of a text as fits into a number of columns. */
    static String beginning(String text, int columns) {
        int room = columns;
        int end = 0;
        while (end < text.length()) {
            int point = text.codePointAt(end);
            room -= of(point);
            if (room < 0) {
                break;
            }
            end += Character.charCount(point);
        }
        return text.substring(0, end);
    }

    private static int of(int point) {
        return switch (Character.getType(point)) {
            case Character.NON_SPACING_MARK, Character.ENCLOSING_MARK, Character.FORMAT -> 0;
            default -> isWide(point) ? 2 : 1;
        };
    }

    private static boolean isWide(int point) {
        for (int[] range : WIDE) {
            if (point >= range[0] && point <= range[1]) {
                return true;
            }
        }
        return Character.isEmojiPresentation(point);
    }
}
