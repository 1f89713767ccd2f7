package jnvdocker.labels;

import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/**
 * Inputs that are almost right: those of a corpus, with bytes changed, pieces cut out, doubled and
 * put elsewhere. Input that is wrong from its first byte on never gets far into a parser.
 */
public final class Mutations {
    /** Values at the limits of a type, in whatever width it is read. */
    private static final List<byte[]> EDGES =
            List.of(
                    new byte[] {0},
                    new byte[] {-1},
                    new byte[] {127},
                    new byte[] {-128},
                    new byte[] {0, 0, 0, 0},
                    new byte[] {-1, -1, -1, -1},
                    new byte[] {-1, -1, -1, 127},
                    new byte[] {0, 0, 0, -128},
                    new byte[] {-1, -1, -1, -1, -1, -1, -1, 127},
                    "\n".getBytes(StandardCharsets.UTF_8),
                    "=".getBytes(StandardCharsets.UTF_8),
                    ",".getBytes(StandardCharsets.UTF_8),
                    "\"".getBytes(StandardCharsets.UTF_8),
                    "\\".getBytes(StandardCharsets.UTF_8),
                    "..".getBytes(StandardCharsets.UTF_8),
                    "99999999999999999999".getBytes(StandardCharsets.UTF_8),
                    "\u00e9\ud83d\ude00".getBytes(StandardCharsets.UTF_8));

    private Mutations() {}

    /** One change; its place and length are fractions of the whole. */
    private record Change(int kind, double at, double length, byte[] bytes) {
        byte[] of(byte[] input) {
            int from = (int) (at * input.length);
            int to = Math.min(input.length, from + (int) (length * length * input.length) + 1);
            byte[] before = Arrays.copyOf(input, from);
            byte[] piece = Arrays.copyOfRange(input, from, to);
            byte[] after = Arrays.copyOfRange(input, to, input.length);
            return switch (kind) {
                case 0 -> joined(before, after);
                case 1 -> before;
                case 2 -> joined(before, piece, piece, after);
                case 3 -> joined(piece, before, after);
                case 4 -> joined(before, bytes, piece, after);
                default -> over(input, from);
            };
        }

        private byte[] over(byte[] input, int from) {
            byte[] changed = input.clone();
            System.arraycopy(bytes, 0, changed, from, Math.min(bytes.length, input.length - from));
            return changed;
        }

        private static byte[] joined(byte[]... pieces) {
            int length = Arrays.stream(pieces).mapToInt(piece -> piece.length).sum();
            byte[] all = new byte[length];
            int at = 0;
            for (byte[] piece : pieces) {
                System.arraycopy(piece, 0, all, at, piece.length);
                at += piece.length;
            }
            return all;
        }
    }

    /** Up to six changes of one of these inputs. */
    public static Arbitrary<byte[]> of(List<byte[]> corpus) {
        Arbitrary<byte[]> bytes =
                Arbitraries.oneOf(
                        Arbitraries.of(EDGES),
                        Arbitraries.bytes().array(byte[].class).ofMinSize(1).ofMaxSize(8));
        Arbitrary<Double> part = Arbitraries.doubles().between(0, 1);
        Arbitrary<Change> change =
                Combinators.combine(Arbitraries.integers().between(0, 7), part, part, bytes)
                        .as(Change::new);
        return Combinators.combine(Arbitraries.of(corpus), change.list().ofMaxSize(6))
                .as(Mutations::changed);
    }

    /** Mutates a text; bytes that are no longer UTF-8 are replaced. */
    public static Arbitrary<String> ofTexts(String... corpus) {
        return of(Arrays.stream(corpus).map(text -> text.getBytes(StandardCharsets.UTF_8)).toList())
                .map(bytes -> new String(bytes, StandardCharsets.UTF_8));
    }

    private static byte[] changed(byte[] input, List<Change> changes) {
        byte[] changed = input;
        for (Change change : changes) {
            changed = change.of(changed);
        }
        return changed;
    }
}
