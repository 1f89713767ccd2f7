package jnvdocker.manual;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.commons.io.FileUtils;
import org.commonmark.ext.gfm.tables.TableBlock;
import org.commonmark.ext.gfm.tables.TablesExtension;
import org.commonmark.ext.heading.anchor.IdGenerator;
import org.commonmark.node.AbstractVisitor;
import org.commonmark.node.FencedCodeBlock;
import org.commonmark.node.Heading;
import org.commonmark.node.Image;
import org.commonmark.node.Link;
import org.commonmark.node.Node;
import org.commonmark.node.Text;
import org.commonmark.parser.Parser;
import org.commonmark.renderer.html.HtmlRenderer;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.stream.Collectors;

/**
 * Writes the manual as a static site: a flat directory that works from any web server and from the
 * disk. The tables of {@code index.md} are the navigation, its second-level headings are the parts.
 * A text file that a page links becomes a page as well.
 */
public final class Site {
    private static final List<TablesExtension> TABLES =
            List.of((TablesExtension) TablesExtension.create());
    private static final Parser PARSER = Parser.builder().extensions(TABLES).build();

    private final Path root;
    private final String version;
    private final Path resources;

    /** By source, in the order of the navigation; those without a part come last. */
    private final Map<Path, Page> pages = new LinkedHashMap<>();

    private final Map<Heading, String> anchors = new IdentityHashMap<>();
    private final HtmlRenderer renderer =
            HtmlRenderer.builder()
                    .extensions(TABLES)
                    .attributeProviderFactory(_ -> this::attributes)
                    .build();

    /**
     * @param file its name in the site
     * @param part of the manual that the navigation lists it in; empty if it does not
     */
    private record Page(String file, String part, String title, Node text) {}

    /**
     * What the search finds. Its components are the keys in the index.
     *
     * @param part the number of the page's part, from 0; -1 if it is in none
     */
    private record Section(String url, int part, String page, String heading, String text) {}

    /**
     * @param root the directory of the project
     */
    Site(Path root, String version) throws IOException {
        this.root = root.toAbsolutePath().normalize();
        this.version = version;
        this.resources = this.root.resolve("src/site/resources");
        readPages();
        for (Map.Entry<Path, Page> page : List.copyOf(pages.entrySet())) {
            page.getValue().text().accept(new Links(page.getKey()));
        }
    }

    /**
     * @param args the directory of the project, the version, and the directory that gets the site
     */
    public static void main(String[] args) throws IOException {
        new Site(Path.of(args[0]), args[1]).write(Path.of(args[2]));
    }

    private void readPages() throws IOException {
        Path index = root.resolve("src/site/markdown/index.md");
        Node contents = PARSER.parse(Files.readString(index));
        String part = "";
        for (Node block : ManualSection.children(contents)) {
            if (block instanceof Heading heading && heading.getLevel() == 2) {
                part = ManualSection.text(heading);
            } else if (block instanceof TableBlock) {
                for (Node node : ManualSection.descendants(block)) {
                    if (node instanceof Link link) {
                        Path source = index.resolveSibling(link.getDestination()).normalize();
                        add(source, part, PARSER.parse(Files.readString(source)));
                    }
                }
            }
        }
        add(index, "", contents);
    }

    private void add(Path source, String part, Node text) {
        IdGenerator ids = IdGenerator.builder().build();
        List<Heading> headings = headings(text);
        headings.forEach(it -> anchors.put(it, ids.generateId(ManualSection.text(it))));
        pages.put(
                source,
                new Page(file(source), part, ManualSection.text(headings.getFirst()), text));
    }

    private String file(Path source) {
        String name = source.getFileName().toString();
        if (name.equals("index.md")) {
            return "contents.html";
        } else if (name.equals("README.md")) {
            Path directory = source.getParent();
            return (directory.equals(root) ? "index" : directory.getFileName()) + ".html";
        } else if (name.endsWith(".md")) {
            return name.replace(".md", ".html");
        }
        return root.relativize(source).toString().replace('/', '-') + ".html";
    }

    private static List<Heading> headings(Node text) {
        return ManualSection.children(text).stream()
                .filter(Heading.class::isInstance)
                .map(Heading.class::cast)
                .toList();
    }

    /** Turns the links of a page, which lead to files of the project, into links of the site. */
    private final class Links extends AbstractVisitor {
        private final Path source;

        Links(Path source) {
            this.source = source;
        }

        @Override
        public void visit(Link link) {
            String target = target(link.getDestination());
            Page page = pages.get(file(link.getDestination()));
            // A reader of the sources finds a page by the name of its file.
            if (page != null
                    && link.getFirstChild() instanceof Text name
                    && name.getLiteral().endsWith(".md")) {
                name.setLiteral(page.title());
            }
            link.setDestination(target);
            visitChildren(link);
        }

        @Override
        public void visit(Image image) {
            image.setDestination(target(image.getDestination()));
        }

        private String target(String written) {
            if (written.contains("://") || written.startsWith("#")) {
                return written;
            }
            Path file = file(written);
            if (file.startsWith(resources) && Files.exists(file)) {
                return resources.relativize(file).toString();
            }
            if (!pages.containsKey(file)) {
                addText(file, written);
            }
            return pages.get(file).file() + written.replaceFirst("[^#]*", "");
        }

        private Path file(String written) {
            return source.resolveSibling(written.replaceFirst("#.*", "")).normalize();
        }

        private void addText(Path file, String written) {
            if (!Files.isRegularFile(file) || file.toString().endsWith(".md")) {
                throw new IllegalArgumentException(
                        source + ": " + written + " is no file, or no page of index.md");
            }
            FencedCodeBlock code = new FencedCodeBlock();
            try {
                code.setLiteral(Files.readString(file));
            } catch (IOException e) {
                throw new IllegalArgumentException(source + ": " + written, e);
            }
            Node text = PARSER.parse("# `" + root.relativize(file) + "`");
            text.appendChild(code);
            add(file, "", text);
        }
    }

    private void attributes(Node node, String tag, Map<String, String> attributes) {
        if (node instanceof Heading heading && anchors.containsKey(heading)) {
            attributes.put("id", anchors.get(heading));
        } else if (tag.equals("pre") || (tag.equals("p") && drawing(node.getFirstChild()))) {
            // The keyboard scrolls only what it can reach.
            attributes.put("tabindex", "0");
        }
    }

    private static boolean drawing(Node node) {
        return node instanceof Image image && image.getDestination().endsWith(".svg");
    }

    void write(Path target) throws IOException {
        Files.createDirectories(target);
        String template = Files.readString(root.resolve("src/site/theme/page.html"));
        List<Page> order = pages.values().stream().filter(it -> !it.part().isEmpty()).toList();
        for (Page page : pages.values()) {
            int at = order.indexOf(page);
            String text =
                    renderer.render(page.text())
                            .replace("<table>", "<div class=\"scroll\" tabindex=\"0\"><table>")
                            .replace("</table>", "</table></div>");
            String html =
                    template.replace("{{title}}", escape(page.title()))
                            .replace("{{version}}", escape(version))
                            .replace("{{navigation}}", navigation(order, page))
                            .replace("{{headings}}", headings(page))
                            .replace("{{previous}}", link(order, at - 1, "prev"))
                            .replace("{{next}}", link(order, at + 1, "next"))
                            .replace("{{text}}", text);
            Files.writeString(target.resolve(page.file()), html);
        }
        Files.writeString(target.resolve("search-index.js"), index());
        for (String name : List.of("theme/site.css", "theme/site.js", "../main/page/icon.svg")) {
            File file = resources.resolveSibling(name).toFile();
            FileUtils.copyFileToDirectory(file, target.toFile());
        }
        FileUtils.copyDirectory(resources.toFile(), target.toFile());
        copyLunr(target.resolve("lunr.min.js"));
    }

    private static String link(List<Page> order, int at, String relation) {
        if (at < 0 || at >= order.size()) {
            return "";
        }
        return "<a rel=\"%s\" href=\"%s\">%s</a>"
                .formatted(relation, order.get(at).file(), escape(order.get(at).title()));
    }

    private static String navigation(List<Page> order, Page current) {
        StringBuilder html = new StringBuilder();
        String part = "";
        for (Page page : order) {
            if (!page.part().equals(part)) {
                part = page.part();
                html.append("</ul>\n<h2>").append(escape(part)).append("</h2>\n<ul>\n");
            }
            html.append("<li><a href=\"").append(page.file());
            html.append(page == current ? "\" aria-current=\"page\">" : "\">");
            html.append(escape(page.title())).append("</a></li>\n");
        }
        return html.append("</ul>\n").substring("</ul>\n".length());
    }

    private String headings(Page page) {
        return headings(page.text()).stream()
                .filter(it -> it.getLevel() == 2 || it.getLevel() == 3)
                .map(it ->
                        "<li class=\"level%d\"><a href=\"#%s\">%s</a></li>\n"
                                .formatted(
                                        it.getLevel(),
                                        anchors.get(it),
                                        escape(ManualSection.text(it))))
                .collect(Collectors.joining());
    }

    private String index() throws JsonProcessingException {
        List<String> parts = pages.values().stream().map(Page::part).distinct().toList();
        List<Section> sections = new ArrayList<>();
        for (Page page : pages.values()) {
            String heading = "";
            String url = page.file();
            int part = page.part().isEmpty() ? -1 : parts.indexOf(page.part());
            StringBuilder text = new StringBuilder();
            for (Node block : ManualSection.children(page.text())) {
                if (block instanceof Heading next && next.getLevel() > 1) {
                    sections.add(new Section(url, part, page.title(), heading, words(text)));
                    text.setLength(0);
                    heading = ManualSection.text(next);
                    url = page.file() + "#" + anchors.get(next);
                } else if (!(block instanceof Heading)) {
                    text.append(ManualSection.words(block)).append(' ');
                }
            }
            sections.add(new Section(url, part, page.title(), heading, words(text)));
        }
        return "globalThis.SECTIONS = " + new ObjectMapper().writeValueAsString(sections) + ";\n";
    }

    private static String words(StringBuilder text) {
        return text.toString().strip().replaceAll("\\s+", " ");
    }

    private static void copyLunr(Path target) throws IOException {
        try (InputStream pom = resource("META-INF/maven/org.webjars.npm/lunr/pom.properties")) {
            Properties properties = new Properties();
            properties.load(pom);
            String jar = "META-INF/resources/webjars/lunr/" + properties.getProperty("version");
            FileUtils.copyInputStreamToFile(resource(jar + "/lunr.min.js"), target.toFile());
        }
    }

    private static InputStream resource(String path) {
        return Objects.requireNonNull(Site.class.getClassLoader().getResourceAsStream(path), path);
    }

    private static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;");
    }
}
