package jnvdocker.tests.world;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.QueryStringDecoder;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.UnixDomainSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A stand-in for an engine that implements only what docker's clients need: it records the requests
 * to create containers, and starts none. It has every image; those whose names begin with {@code
 * plain} request no GPUs, all others do.
 */
public final class RecordingEngine implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int MAX_REQUEST = 1 << 24;

    /** The container that the daemon creates to see whether the engine leaves nothing out. */
    private static final String CHECKED = "jnvdocker-check-";

    private static final String CONTAINER = "0123456789abcdef".repeat(4);

    /** The newest version that the clients know; an older client uses its own. */
    private static final String API_VERSION = "1.51";

    private final Path directory = Directories.make("recorder");
    private final MultiThreadIoEventLoopGroup loops =
            new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final List<Creation> creations = new ArrayList<>();
    private final AtomicInteger lists = new AtomicInteger();
    private volatile String containers = "[]";
    private volatile JsonNode checked = MissingNode.getInstance();

    /**
     * A request to create a container.
     *
     * @param query the container's name and platform
     */
    public record Creation(Map<String, List<String>> query, JsonNode body) {}

    public RecordingEngine() {
        new ServerBootstrap()
                .group(loops)
                .channel(NioServerDomainSocketChannel.class)
                .childHandler(
                        new ChannelInitializer<>() {
                            @Override
                            protected void initChannel(Channel channel) {
                                channel.pipeline()
                                        .addLast(new HttpServerCodec())
                                        .addLast(new HttpObjectAggregator(MAX_REQUEST))
                                        .addLast(new Handler());
                            }
                        })
                .bind(UnixDomainSocketAddress.of(socket()))
                .syncUninterruptibly();
    }

    public Path socket() {
        return directory.resolve("docker.sock");
    }

    public String url() {
        return "unix://" + socket();
    }

    /** Sets the JSON array with which it answers every request to list containers. */
    public void lists(String json) {
        containers = json;
    }

    /** Returns how often containers were listed. */
    public int lists() {
        return lists.get();
    }

    /** The requests since the last call. */
    public synchronized List<Creation> take() {
        List<Creation> taken = List.copyOf(creations);
        creations.clear();
        return taken;
    }

    private synchronized void keep(Creation creation) {
        creations.add(creation);
    }

    private final class Handler extends SimpleChannelInboundHandler<FullHttpRequest> {
        @Override
        protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
            QueryStringDecoder uri = new QueryStringDecoder(request.uri());
            String path = uri.path().replaceFirst("^/v1\\.[0-9]+/", "/");
            HttpResponse response =
                    path.equals("/events") ? endless() : answer(path, uri.parameters(), request);
            response.headers().set("Api-Version", API_VERSION);
            response.headers().set("Ostype", "linux");
            context.writeAndFlush(response);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            context.close();
        }
    }

    private HttpResponse answer(
            String path, Map<String, List<String>> query, FullHttpRequest request) {
        if (path.equals("/containers/create")
                && query.getOrDefault("name", List.of()).stream()
                        .anyMatch(name -> name.startsWith(CHECKED))) {
            checked = json(ByteBufUtil.getBytes(request.content()));
            return response(201, "{\"Id\": \"" + CONTAINER + "\", \"Warnings\": []}");
        }
        if (path.equals("/containers/" + CONTAINER + "/json") && !checked.isMissingNode()) {
            return response(200, checkedRequest().toString());
        }
        if (path.equals("/containers/create")) {
            keep(new Creation(query, json(ByteBufUtil.getBytes(request.content()))));
            return response(201, "{\"Id\": \"" + CONTAINER + "\", \"Warnings\": []}");
        }
        if (path.startsWith("/images/") && path.endsWith("/json")) {
            String name = path.substring("/images/".length(), path.length() - "/json".length());
            return response(200, image(name));
        }
        if (request.method().equals(HttpMethod.DELETE)) {
            return response(204, "");
        }
        if (path.endsWith("/wait")) {
            // Clients also wait for a container that did not start.
            return response(200, "{\"StatusCode\": 0}");
        }
        return switch (path) {
            case "/_ping" -> response(200, "OK");
            case "/version" -> response(200, VERSION);
            case "/info" -> response(200, INFO);
            case "/containers/json" -> {
                lists.incrementAndGet();
                yield response(200, containers);
            }
            case "/volumes" -> response(200, "{\"Volumes\": []}");
            case "/images/create" -> response(200, "{\"status\": \"Pulled\"}\r\n");
            default -> response(500, "{\"message\": \"nothing is started here\"}");
        };
    }

    private ObjectNode checkedRequest() {
        ObjectNode container = JSON.createObjectNode();
        container.set("HostConfig", checked.path("HostConfig"));
        ArrayNode mounts = container.putArray("Mounts");
        for (JsonNode mount : checked.path("HostConfig").path("Mounts")) {
            mounts.addObject()
                    .put("Name", mount.path("Source").asText())
                    .set("Driver", mount.at("/VolumeOptions/DriverConfig/Name"));
        }
        return container;
    }

    private static final String VERSION =
            "{\"ApiVersion\": \"" + API_VERSION + "\", \"Components\": [{\"Name\": \"Engine\"}]}";

    private static final String INFO =
            """
            {"ID": "recorder", "OSType": "linux", "Architecture": "x86_64",
             "DefaultRuntime": "runc", "Runtimes": {"runc": {"path": "runc"}}}
            """;

    private static String image(String name) {
        String environment =
                name.startsWith("plain") ? "" : "\"NVIDIA_VISIBLE_DEVICES=all\", \"PATH=/bin\"";
        return "{\"Id\": \"sha256:"
                + CONTAINER
                + "\", \"Os\": \"linux\", \"Architecture\": \"amd64\","
                + " \"Config\": {\"Env\": ["
                + environment
                + "]}}";
    }

    private static JsonNode json(byte[] bytes) {
        try {
            return JSON.readTree(bytes);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static HttpResponse response(int status, String text) {
        var body = Unpooled.wrappedBuffer(text.getBytes(StandardCharsets.UTF_8));
        var response =
                new DefaultFullHttpResponse(
                        HttpVersion.HTTP_1_1, HttpResponseStatus.valueOf(status), body);
        response.headers().set(HttpHeaderNames.CONTENT_TYPE, "application/json");
        response.headers().setInt(HttpHeaderNames.CONTENT_LENGTH, body.readableBytes());
        return response;
    }

    /** A stream without any data. */
    private static HttpResponse endless() {
        var response = new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK);
        HttpUtil.setTransferEncodingChunked(response, true);
        return response;
    }

    @Override
    public void close() {
        loops.shutdownGracefully(0, 2, TimeUnit.SECONDS).awaitUninterruptibly();
        Directories.remove(directory);
    }
}
