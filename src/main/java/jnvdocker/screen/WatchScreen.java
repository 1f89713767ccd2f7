package jnvdocker.screen;

import java.util.ArrayList;
import java.util.List;

/**
 * A terminal full of text, which replaces the previous one. The cursor is left below, so that
 * however the watch ends, the terminal stays usable.
 *
 * @param title the title of the text, and its time
 */
public record WatchScreen(String title, List<String> lines, Screen screen) {
    private static final String HOME = "\u001b[H";
    private static final String ERASE_REST = "\u001b[K";
    private static final String ERASE_BELOW = "\u001b[J";

    /** Returns the whole text, including control sequences. */
    public String text() {
        StringBuilder text = new StringBuilder(HOME);
        fitting()
                .forEach(line ->
                        text.append(line).append(isFull(line) ? "" : ERASE_REST).append('\n'));
        return text.append(ERASE_BELOW).toString();
    }

    /** On a full line the cursor stays at its last character, which would be erased. */
    private boolean isFull(String line) {
        int width = Screen.width(line);
        return width > 0 && screen.columns() > 0 && width % screen.columns() == 0;
    }

    /**
     * Returns as many lines as fit, including the cursor's: otherwise the first would scroll away.
     */
    private List<String> fitting() {
        List<String> all = new ArrayList<>();
        String shown = screen.readable(title);
        all.add(screen.columns() == 0 ? shown : screen.shortened(shown, screen.columns()));
        all.add("");
        all.addAll(lines);
        int room = screen.rows() - 1;
        if (screen.rows() == 0 || height(all) <= room) {
            return all;
        }
        List<String> first = new ArrayList<>(all);
        while (first.size() > 1 && height(first) > room - 1) {
            first.removeLast();
        }
        first.add(screen.ellipsis() + " " + (all.size() - first.size()) + " more");
        return first;
    }

    private int height(List<String> text) {
        return text.stream().mapToInt(this::height).sum();
    }

    private int height(String line) {
        return screen.columns() == 0
                ? 1
                : Math.max(1, Math.ceilDiv(Screen.width(line), screen.columns()));
    }
}
