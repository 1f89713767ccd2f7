package jnvdocker.decision;

import jnvdocker.labels.BadImageException;
import jnvdocker.labels.UnmetNeedException;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.Verdict;
import jnvdocker.request.InvalidGpuRequestException;
import jnvdocker.words.RefusedException;

/** The kinds of refusals, to count them by. */
public enum RefusalReason {
    /** Others have GPUs that are needed. */
    TAKEN,
    /** The user has too many GPUs for this request. */
    QUOTA,
    /** The request exceeds every user's limit. */
    NEVER_ALLOWED,
    /** The host has too few GPUs. */
    TOO_FEW,
    /** The host may have enough GPUs, but NVML does not report their memory. */
    UNCLEAR,
    NO_GPU,
    SICK,
    /** The driver does not know its UUID yet. */
    NAMELESS,
    CORDONED,
    /**
     * The driver does not have what the image requires, or the image's requirements are invalid.
     */
    IMAGE,
    /** No such GPUs can be requested. */
    REQUEST,
    /** A claim's GPUs cannot be had at a start by docker. */
    START,
    OTHER;

    public static RefusalReason of(RefusedException why) {
        return switch (why) {
            case UnavailableException unavailable -> unavailable.reason();
            case UnmetNeedException _, BadImageException _ -> IMAGE;
            case InvalidGpuRequestException _ -> REQUEST;
            default -> OTHER;
        };
    }

    static RefusalReason of(Outcome.Unmet unmet) {
        return switch (unmet) {
            case Outcome.Taken _ -> TAKEN;
            case Outcome.OverQuota _ -> QUOTA;
            case Outcome.NeverAllowed _, Outcome.NeverTheirs _ -> NEVER_ALLOWED;
            case Outcome.TooFew _ -> TOO_FEW;
            case Outcome.Unclear _ -> UNCLEAR;
            case Outcome.NoGpu _ -> NO_GPU;
            case Outcome.Barred(Verdict gpu, _) when gpu.is(Verdict.Sick.class) -> SICK;
            case Outcome.Barred(Verdict gpu, _) when gpu.is(Verdict.Nameless.class) -> NAMELESS;
            case Outcome.Barred _ -> CORDONED;
            case Outcome.NotShared _ -> TOO_FEW;
            case Outcome.NotBeside _ -> REQUEST;
        };
    }
}
