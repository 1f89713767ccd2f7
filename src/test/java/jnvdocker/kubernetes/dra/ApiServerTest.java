package jnvdocker.kubernetes.dra;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;

import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Arrays;
import java.util.Base64;

import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManagerFactory;

/** Credentials in their forms, with a server that knows its clients by their certificates. */
class ApiServerTest {
    private static final char[] PASSWORD = "test-only".toCharArray();

    @TempDir Path directory;
    private HttpsServer server;
    private String authority;

    @AfterEach
    void stop() {
        if (server != null) {
            server.stop(0);
        }
    }

    private KeyStore keys(String name, String algorithm) throws Exception {
        Path file = directory.resolve(name + ".p12");
        Process keytool =
                new ProcessBuilder(
                                Path.of(System.getProperty("java.home"), "bin/keytool").toString(),
                                "-genkeypair",
                                "-alias",
                                "own",
                                "-keyalg",
                                algorithm,
                                "-dname",
                                "CN=" + name,
                                "-ext",
                                "SAN=IP:127.0.0.1",
                                "-keystore",
                                file.toString(),
                                "-storepass",
                                new String(PASSWORD))
                        .redirectErrorStream(true)
                        .start();
        String said = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, keytool.waitFor(), said);
        return KeyStore.getInstance(file.toFile(), PASSWORD);
    }

    private void serve(KeyStore client, String body) throws Exception {
        KeyStore own = keys("server", "EC");
        KeyManagerFactory keys =
                KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(own, PASSWORD);
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry("client", client.getCertificate("own"));
        TrustManagerFactory trust =
                TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
        server = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setHttpsConfigurator(
                new HttpsConfigurator(context) {
                    @Override
                    public void configure(HttpsParameters parameters) {
                        SSLParameters mutual = context.getDefaultSSLParameters();
                        mutual.setNeedClientAuth(true);
                        parameters.setSSLParameters(mutual);
                    }
                });
        server.createContext(
                "/",
                exchange -> {
                    try (exchange) {
                        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
                        exchange.sendResponseHeaders(200, bytes.length);
                        exchange.getResponseBody().write(bytes);
                    }
                });
        server.start();
        authority = pem("CERTIFICATE", own.getCertificate("own").getEncoded());
    }

    private static String pem(String what, byte[] bytes) {
        return "-----BEGIN "
                + what
                + "-----\n"
                + Base64.getMimeEncoder().encodeToString(bytes)
                + "\n-----END "
                + what
                + "-----\n";
    }

    /** The older form of a key is the last part of the one that Java writes. */
    private static byte[] older(byte[] key) {
        int at = 1 + length(key, 1); // into the outer sequence
        at += 3; // the version
        at += 2 + key[at + 1]; // the algorithm
        at += 1 + length(key, at + 1); // into the octets
        return Arrays.copyOfRange(key, at, key.length);
    }

    private static int length(byte[] der, int at) {
        return der[at] < 0 ? 1 + (der[at] & 0x7f) : 1;
    }

    private Path kubeconfig(String user) throws IOException {
        Files.writeString(directory.resolve("ca.pem"), authority);
        return Files.writeString(
                directory.resolve("kubeconfig"),
                """
                clusters:
                - {name: other, cluster: {server: "https://192.0.2.1"}}
                - name: lab
                  cluster: {server: "https://127.0.0.1:%d/", certificate-authority: ca.pem}
                contexts:
                - {name: node@lab, context: {cluster: lab, user: node}}
                current-context: node@lab
                users:
                - name: node
                  user: %s
                """
                        .formatted(server.getAddress().getPort(), user));
    }

    @ParameterizedTest
    @CsvSource({
        "RSA, PRIVATE KEY",
        "RSA, RSA PRIVATE KEY",
        "EC, PRIVATE KEY",
        "EC, EC PRIVATE KEY",
    })
    void certificateAndKeyInOneFileAsAKubeletHasThem(String algorithm, String form)
            throws Exception {
        KeyStore client = keys("client", algorithm);
        serve(client, "{\"kind\": \"Node\"}");
        byte[] key = client.getKey("own", PASSWORD).getEncoded();
        Files.writeString(
                directory.resolve("current.pem"),
                pem("CERTIFICATE", client.getCertificate("own").getEncoded())
                        + pem(form, form.equals("PRIVATE KEY") ? key : older(key)));
        Path file = kubeconfig("{client-certificate: current.pem, client-key: current.pem}");
        try (ApiServer api = new ApiServer(file)) {
            assertEquals("Node", api.get("/api/v1/nodes/node1").path("kind").asText());
            // A token alone does not do here: it is read again for each request.
            kubeconfig("{token: of-nobody}");
            IOException why = assertThrows(IOException.class, () -> api.get("/api"));
            assertTrue(why.getMessage().contains("does not answer at https://127"), why::toString);
        }
    }

    @Test
    void answerThatIsTooLongIsNotRead() throws Exception {
        KeyStore client = keys("client", "EC");
        serve(client, "{\"items\": \"" + "x".repeat(3 << 20) + "\"}");
        Files.writeString(
                directory.resolve("current.pem"),
                pem("CERTIFICATE", client.getCertificate("own").getEncoded())
                        + pem("PRIVATE KEY", client.getKey("own", PASSWORD).getEncoded()));
        Path file = kubeconfig("{client-certificate: current.pem, client-key: current.pem}");
        try (ApiServer api = new ApiServer(file)) {
            assertThrows(IOException.class, () -> api.get("/api"));
        }
    }

    @Test
    void whatIsNotSupportedIsRefusedWithTheFile() throws Exception {
        serve(keys("client", "EC"), "{}");
        Path file = kubeconfig("{exec: {command: get-token}}");
        var why = assertThrows(RefusedException.class, () -> Kubeconfig.read(file));
        assertTrue(why.getMessage().startsWith("cannot use the credentials in " + file));
        Files.writeString(
                file,
                Files.readString(kubeconfig("{token: a}"))
                        .replace("ca.pem", "ca.pem, insecure-skip-tls-verify: true"));
        assertThrows(RefusedException.class, () -> Kubeconfig.read(file));
        Files.writeString(
                file, Files.readString(kubeconfig("{token: a}")).replace("https", "http"));
        assertThrows(RefusedException.class, () -> Kubeconfig.read(file));
        Files.writeString(file, "\t- {");
        assertThrows(RefusedException.class, () -> Kubeconfig.read(file));
        Files.delete(file);
        assertThrows(RefusedException.class, () -> Kubeconfig.read(file));
    }
}
