package jnvdocker.lease.text;

import jnvdocker.lease.Allowance;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Quota;
import jnvdocker.lease.Rule;
import jnvdocker.lease.Subject;
import jnvdocker.words.Indices;
import jnvdocker.words.Quote;

import java.text.DecimalFormat;
import java.text.DecimalFormatSymbols;
import java.util.List;
import java.util.Locale;

/** Says what users may have. */
public final class QuotaText {
    private QuotaText() {}

    /**
     * Why a user may not have more: {@code each user may have 4 at a time (limits.*.gpus)}, {@code
     * alice has 1 of the 2 GPUs that each user may have (…): container train-8 holds GPU 0}.
     */
    public static String why(Quota.Excess excess) {
        return switch (excess) {
            case Quota.Never(Rule<Integer> rule) ->
                    subject(rule)
                            + " may have "
                            + (rule.limit() == 0 ? "no GPU" : rule.limit() + " at a time")
                            + key(rule);
            case Quota.TooMany many -> tooMany(many);
            case Quota.NoHours(Owner owner, Allowance.Spent spent) ->
                    Quote.shown(owner.name())
                            + " has used the "
                            + spent.rule().limit().toHours()
                            + " GPU-hours that "
                            + subject(spent.rule())
                            + " has in a "
                            + (spent.day() ? "day" : "week")
                            + key(spent.rule())
                            + ", and gets GPUs again from "
                            + LeaseText.time(spent.until());
            case Quota.Elsewhere(Rule<List<String>> rule) ->
                    subject(rule)
                            + " may have only "
                            + (rule.limit().size() == 1 ? "GPU " : "GPUs ")
                            + Quote.shown(Indices.typed(rule.limit()))
                            + key(rule);
            case Quota.Unsure(Owner owner) ->
                    "it is not known whether "
                            + Quote.shown(owner.name())
                            + " is in a group that limits are for: the host's user database does"
                            + " not answer";
        };
    }

    /** What to do about it. */
    public static String remedy(Quota.ForGood excess) {
        return switch (excess) {
            case Quota.Never(Rule<Integer> rule) ->
                    rule.limit() == 0 ? "contact an administrator" : "request fewer";
            case Quota.Elsewhere _ -> "request these, or contact an administrator";
            case Quota.Unsure _ -> "try again when 'id' shows your groups";
        };
    }

    private static String tooMany(Quota.TooMany many) {
        Rule<Integer> rule = many.limit();
        return Quote.shown(many.owner().name())
                + " has "
                + (many.most().isPresent()
                        ? many.has().shares() + " of the " + many.most().getAsInt() + " shares of "
                        : number(many.has().gpus()) + " of the ")
                + (rule.limit() == 1 ? "1 GPU" : rule.limit() + " GPUs")
                + " that "
                + subject(rule)
                + " may have"
                + key(rule)
                + ": "
                + String.join(", ", HoldersText.some(holders(many)));
    }

    /** {@code container train-8 holds GPUs 0,1}; of several users together, with their names. */
    private static List<String> holders(Quota.TooMany many) {
        return many.leases().stream()
                .map(lease ->
                        (lease.claim().owner().equals(many.owner())
                                        ? LeaseText.itself(lease)
                                        : LeaseText.holder(lease))
                                + " holds "
                                + gpus(lease)
                                + HoldersText.due(lease))
                .toList();
    }

    private static String gpus(Lease lease) {
        return lease.claim().share().map(share -> share + " of ").orElse("")
                + LeaseText.numbers(lease.claim().gpus());
    }

    /** {@code 2}, or {@code 1.25}: a share or a MIG instance is a part of a GPU. */
    public static String number(double gpus) {
        return new DecimalFormat("0.##", DecimalFormatSymbols.getInstance(Locale.ROOT))
                .format(gpus);
    }

    /** {@code (limits.*.max_wait)}: 'gpu limits' shows its place in the configuration. */
    static String key(Rule<?> rule) {
        return " (" + rule.key() + ")";
    }

    /** {@code each user}, {@code each member of students}, {@code alice}. */
    public static String subject(Rule<?> rule) {
        Subject subject = rule.subject();
        return switch (subject.kind()) {
            case EVERYBODY -> "each user";
            case UNKNOWN -> "containers of unknown users, all together,";
            case NAMESPACES -> "the pods of a namespace, all together,";
            case USER -> Quote.shown(subject.name());
            case GROUP -> "each member of " + Quote.shown(subject.name());
        };
    }
}
