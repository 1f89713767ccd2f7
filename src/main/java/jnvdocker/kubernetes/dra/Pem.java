package jnvdocker.kubernetes.dra;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Certificates and keys in PEM's text. */
final class Pem {
    private static final Pattern BLOCK =
            Pattern.compile("-----BEGIN ([A-Z ]+)-----([A-Za-z0-9+/=\\s]*)-----END \\1-----");
    private static final String CERTIFICATE = "CERTIFICATE";
    private static final char[] NO_PASSWORD = {};

    /** Tags of ASN.1. */
    private static final int SEQUENCE = 0x30;

    private static final int OCTETS = 0x04;

    /** Lengths from here on are preceded by the number of their bytes. */
    private static final int SHORT = 0x80;

    private Pem() {}

    /**
     * What a client needs to connect to servers that these have signed.
     *
     * @param authority certificates
     * @param identity a certificate, with those that lead to its authority, and its private key;
     *     empty for a client that has none
     * @throws GeneralSecurityException when a part is missing or malformed
     */
    static SSLContext context(String authority, String identity)
            throws GeneralSecurityException, IOException {
        KeyStore trusted = store();
        List<Certificate> authorities = certificates(authority);
        for (int i = 0; i < authorities.size(); i++) {
            trusted.setCertificateEntry("authority-" + i, authorities.get(i));
        }
        TrustManagerFactory trust =
                TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        KeyStore own = store();
        if (!identity.isEmpty()) {
            List<Certificate> chain = certificates(identity);
            own.setKeyEntry(
                    "own",
                    key(identity, chain.getFirst()),
                    NO_PASSWORD,
                    chain.toArray(Certificate[]::new));
        }
        KeyManagerFactory keys =
                KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(own, NO_PASSWORD);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
        return context;
    }

    private static KeyStore store() throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, NO_PASSWORD);
        return store;
    }

    private static List<Certificate> certificates(String text) throws GeneralSecurityException {
        CertificateFactory factory = CertificateFactory.getInstance("X.509");
        List<Certificate> all = new ArrayList<>();
        Matcher block = BLOCK.matcher(text);
        while (block.find()) {
            if (block.group(1).equals(CERTIFICATE)) {
                Certificate each =
                        factory.generateCertificate(new ByteArrayInputStream(bytes(block)));
                // A kubelet's certificate and key are in one file, which is named twice.
                if (!all.contains(each)) {
                    all.add(each);
                }
            }
        }
        if (all.isEmpty()) {
            throw new GeneralSecurityException("no certificate is there");
        }
        return all;
    }

    private static byte[] bytes(Matcher block) throws GeneralSecurityException {
        try {
            return Base64.getMimeDecoder().decode(block.group(2));
        } catch (IllegalArgumentException e) {
            throw new GeneralSecurityException("a part of the text is not in base64", e);
        }
    }

    /** Reads PKCS #8, and the older forms of RSA and EC keys, which kubelets write. */
    private static PrivateKey key(String text, Certificate its) throws GeneralSecurityException {
        KeyFactory factory = KeyFactory.getInstance(its.getPublicKey().getAlgorithm());
        Matcher block = BLOCK.matcher(text);
        while (block.find()) {
            switch (block.group(1)) {
                case "PRIVATE KEY" -> {
                    return factory.generatePrivate(new PKCS8EncodedKeySpec(bytes(block)));
                }
                case "RSA PRIVATE KEY", "EC PRIVATE KEY" -> {
                    return factory.generatePrivate(
                            new PKCS8EncodedKeySpec(
                                    wrapped(bytes(block), its.getPublicKey().getEncoded())));
                }
                default -> {}
            }
        }
        throw new GeneralSecurityException("no private key is there");
    }

    /**
     * PKCS #8 is a version, the algorithm, and the older form.
     *
     * @param publicKey whose encoding begins with the same algorithm
     */
    private static byte[] wrapped(byte[] key, byte[] publicKey) {
        int outer = publicKey[1] < 0 ? 2 + (publicKey[1] & 0x7f) : 2;
        byte[] algorithm = new byte[2 + publicKey[outer + 1]];
        System.arraycopy(publicKey, outer, algorithm, 0, algorithm.length);
        ByteArrayOutputStream parts = new ByteArrayOutputStream();
        parts.writeBytes(new byte[] {2, 1, 0});
        parts.writeBytes(algorithm);
        parts.writeBytes(tagged(OCTETS, key));
        return tagged(SEQUENCE, parts.toByteArray());
    }

    private static byte[] tagged(int tag, byte[] content) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        all.write(tag);
        if (content.length >= SHORT) {
            all.write(content.length > 0xff ? 0x82 : 0x81);
        }
        if (content.length > 0xff) {
            all.write(content.length >> 8);
        }
        all.write(content.length);
        all.writeBytes(content);
        return all.toByteArray();
    }
}
