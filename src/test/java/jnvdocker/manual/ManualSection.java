package jnvdocker.manual;

import org.commonmark.ext.gfm.tables.TableBlock;
import org.commonmark.ext.gfm.tables.TableCell;
import org.commonmark.ext.gfm.tables.TableHead;
import org.commonmark.ext.gfm.tables.TableRow;
import org.commonmark.ext.gfm.tables.TablesExtension;
import org.commonmark.node.Block;
import org.commonmark.node.BulletList;
import org.commonmark.node.Code;
import org.commonmark.node.CustomNode;
import org.commonmark.node.Emphasis;
import org.commonmark.node.FencedCodeBlock;
import org.commonmark.node.Heading;
import org.commonmark.node.IndentedCodeBlock;
import org.commonmark.node.Link;
import org.commonmark.node.Node;
import org.commonmark.node.Paragraph;
import org.commonmark.node.SoftLineBreak;
import org.commonmark.node.StrongEmphasis;
import org.commonmark.node.Text;
import org.commonmark.parser.Parser;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** A section of a page of the manual, without its heading. */
record ManualSection(List<Node> blocks) {
    private static final Parser PARSER =
            Parser.builder().extensions(List.of(TablesExtension.create())).build();

    /**
     * The part below a heading, up to the next one of its level.
     *
     * @throws IllegalArgumentException when the page has no such heading
     */
    static ManualSection of(Path page, String heading) throws IOException {
        List<Node> blocks = new ArrayList<>();
        int level = 0;
        for (Node each : children(PARSER.parse(Files.readString(page)))) {
            if (each instanceof Heading next) {
                if (level > 0 && next.getLevel() <= level) {
                    return new ManualSection(blocks);
                }
                if (level == 0 && text(next).equals(heading)) {
                    level = next.getLevel();
                    continue;
                }
            }
            if (level > 0) {
                blocks.add(each);
            }
        }
        if (level == 0) {
            throw new IllegalArgumentException(page + " has no section '" + heading + "'");
        }
        return new ManualSection(blocks);
    }

    /** Adds the section to a man page. */
    void appendTo(Roff roff) {
        for (Node each : blocks) {
            switch (each) {
                case Heading heading -> roff.subheading(text(heading));
                case Paragraph paragraph -> roff.paragraph(rich(paragraph));
                case IndentedCodeBlock code -> roff.literal(code.getLiteral().lines().toList());
                case FencedCodeBlock code -> roff.literal(code.getLiteral().lines().toList());
                case BulletList list -> children(list).forEach(item -> roff.bullet(rich(item)));
                case TableBlock table -> rows(table).forEach(row -> item(roff, table, row));
                default ->
                        throw new IllegalArgumentException(
                                "a man page cannot have a " + each.getClass().getSimpleName());
            }
        }
    }

    /** The cells of its tables, row by row, without the heads. */
    List<List<String>> rows() {
        return blocks.stream()
                .filter(TableBlock.class::isInstance)
                .flatMap(table -> rows(table).stream())
                .toList();
    }

    private static List<List<String>> rows(Node table) {
        return cells(table).stream()
                .map(row -> row.stream().map(ManualSection::rich).toList())
                .toList();
    }

    /** The cells of a table, row by row, without the head. */
    static List<List<Node>> cells(Node table) {
        return descendants(table).stream()
                .filter(node ->
                        node instanceof TableRow && !(node.getParent() instanceof TableHead))
                .map(ManualSection::children)
                .toList();
    }

    /** The last cell is the meaning; those between have names, which are the head's. */
    private static void item(Roff roff, Node table, List<String> row) {
        List<String> names =
                descendants(table).stream()
                        .filter(TableCell.class::isInstance)
                        .limit(row.size())
                        .map(ManualSection::rich)
                        .toList();
        roff.item(row.getFirst(), row.getLast());
        for (int i = 1; i < row.size() - 1; i++) {
            roff.lineBreak().line(names.get(i) + ": " + row.get(i));
        }
    }

    private static String rich(Node parent) {
        return children(parent).stream()
                .map(child ->
                        switch (child) {
                            case Text text -> Roff.escape(text.getLiteral());
                            case Code code -> Roff.bold(Roff.escape(code.getLiteral()));
                            case StrongEmphasis strong -> Roff.bold(rich(strong));
                            case Emphasis emphasis -> Roff.italic(rich(emphasis));
                            case SoftLineBreak _ -> "\n";
                            // Another page of the manual, which is not named so here.
                            case Link link -> rich(link);
                            case Paragraph paragraph -> rich(paragraph);
                            default ->
                                    throw new IllegalArgumentException(
                                            "a man page cannot have a "
                                                    + child.getClass().getSimpleName());
                        })
                .collect(Collectors.joining());
    }

    static String text(Node parent) {
        return descendants(parent).stream()
                .map(node ->
                        switch (node) {
                            case Text text -> text.getLiteral();
                            case Code code -> code.getLiteral();
                            default -> "";
                        })
                .collect(Collectors.joining());
    }

    /** All of its text and code, with blanks between blocks and between the cells of a table. */
    static String words(Node node) {
        String text =
                switch (node) {
                    case Text it -> it.getLiteral();
                    case Code it -> it.getLiteral();
                    case FencedCodeBlock it -> it.getLiteral();
                    case IndentedCodeBlock it -> it.getLiteral();
                    case SoftLineBreak _ -> " ";
                    default ->
                            children(node).stream()
                                    .map(ManualSection::words)
                                    .collect(Collectors.joining());
                };
        return node instanceof Block || node instanceof CustomNode ? text + " " : text;
    }

    static List<Node> children(Node parent) {
        List<Node> children = new ArrayList<>();
        for (Node each = parent.getFirstChild(); each != null; each = each.getNext()) {
            children.add(each);
        }
        return children;
    }

    static List<Node> descendants(Node parent) {
        List<Node> all = new ArrayList<>();
        for (Node each : children(parent)) {
            all.add(each);
            all.addAll(descendants(each));
        }
        return all;
    }
}
