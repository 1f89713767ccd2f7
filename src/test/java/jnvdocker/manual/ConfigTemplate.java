package jnvdocker.manual;

import org.commonmark.ext.gfm.tables.TableBlock;
import org.commonmark.node.Code;
import org.commonmark.node.FencedCodeBlock;
import org.commonmark.node.Node;
import org.commonmark.node.Paragraph;
import org.tomlj.Toml;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Writes the configuration that is installed, in which each key of {@code configuration.md} is
 * commented out. Its value is the default if that is one of TOML. Otherwise it is the example in
 * the key's meaning, and the comment says what counts without the key.
 */
public final class ConfigTemplate {
    private static final int WIDTH = 120;
    private static final String HEAD =
            """
            # Configuration of jnvdocker. To change a value, remove the # before its key, then run: systemctl reload jnvdocker
            # The value shown is the default, unless the comment says what counts without this key.
            # Files config.d/*.toml beside this one are read after it, and override it.
            """;

    private final StringBuilder text = new StringBuilder(HEAD);

    /** The TOML table that is being written; empty at the beginning. */
    private String table = "";

    private ConfigTemplate() {}

    /**
     * @param args the directory of the manual's pages, and the file to write
     */
    public static void main(String[] args) throws IOException {
        Path file = Path.of(args[1]);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text(Path.of(args[0])));
    }

    /**
     * Returns the content of the file.
     *
     * @param manual the directory of the manual's pages
     */
    public static String text(Path manual) throws IOException {
        ConfigTemplate template = new ConfigTemplate();
        ManualSection.of(manual.resolve("configuration.md"), "Keys")
                .blocks()
                .forEach(template::add);
        return template.text.toString();
    }

    private void add(Node block) {
        switch (block) {
            case Paragraph paragraph -> addTable(ManualSection.words(paragraph).strip());
            case TableBlock keys -> ManualSection.cells(keys).forEach(this::addKey);
            // Lines of a table whose keys the user chooses.
            case FencedCodeBlock example ->
                    example.getLiteral().lines().forEach(line -> addLine("#" + line));
            default -> {}
        }
    }

    /** Begins a TOML table if the paragraph introduces one; others are for the page alone. */
    private void addTable(String paragraph) {
        if (paragraph.startsWith("The table [")) {
            table = paragraph.substring(paragraph.indexOf('['), paragraph.indexOf(']') + 1);
            addLine("");
            addComment(paragraph.replaceFirst(":$", "."));
            addLine(table);
        }
    }

    /**
     * @param row key, type, default, meaning
     */
    private void addKey(List<Node> row) {
        String key = ManualSection.text(row.getFirst());
        String meaning = ManualSection.text(row.getLast());
        if (table.equals("[limits]")) {
            addComment(key + ": " + meaning + ".");
            return;
        }
        addLine("");
        String sentence = meaning.substring(0, 1).toUpperCase() + meaning.substring(1) + ".";
        Node standard = row.get(2);
        Optional<String> value =
                values(standard).filter(ManualSection.text(standard)::equals).findFirst();
        if (value.isPresent()) {
            addComment(sentence);
            addLine("#" + key + " = " + value.get());
        } else {
            String example =
                    values(row.getLast())
                            .findFirst()
                            .orElseThrow(() ->
                                    new IllegalArgumentException(
                                            key + " has neither a default of TOML nor an example"));
            addComment(
                    sentence.replace(": " + example, "")
                            + " Without this key: "
                            + ManualSection.text(standard)
                            + ".");
            addLine("#" + key + " = " + example);
        }
    }

    /** The code in a cell that is a value of TOML. */
    private static Stream<String> values(Node cell) {
        return ManualSection.descendants(cell).stream()
                .filter(Code.class::isInstance)
                .map(code -> ((Code) code).getLiteral())
                .filter(code -> !Toml.parse("key = " + code).hasErrors());
    }

    private void addLine(String line) {
        text.append(line).append('\n');
    }

    private void addComment(String sentence) {
        StringBuilder line = new StringBuilder("#");
        for (String word : sentence.split(" ")) {
            if (line.length() + 1 + word.length() > WIDTH) {
                addLine(line.toString());
                line = new StringBuilder("#");
            }
            line.append(' ').append(word);
        }
        addLine(line.toString());
    }
}
