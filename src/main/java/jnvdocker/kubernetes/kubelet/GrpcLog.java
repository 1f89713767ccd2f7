package jnvdocker.kubernetes.kubelet;

import org.slf4j.LoggerFactory;

import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/** Has gRPC's warnings logged as all others are. */
final class GrpcLog extends Handler {
    private static final org.slf4j.Logger LOG = LoggerFactory.getLogger(GrpcLog.class);

    private final SimpleFormatter format = new SimpleFormatter();

    // Kept here, since Java drops unreferenced loggers, with their settings.
    private final Logger logger = Logger.getLogger("io.grpc");

    private GrpcLog() {}

    static GrpcLog take() {
        GrpcLog log = new GrpcLog();
        log.setLevel(Level.WARNING);
        log.logger.setUseParentHandlers(false);
        log.logger.addHandler(log);
        return log;
    }

    @Override
    public void publish(LogRecord entry) {
        if (isLoggable(entry)) {
            Throwable cause = entry.getThrown();
            LOG.warn(
                    "gRPC: {}{}",
                    format.formatMessage(entry),
                    cause == null ? "" : " (" + cause.getMessage() + ")");
            LOG.debug("where that happened", cause);
        }
    }

    @Override
    public void flush() {}

    @Override
    public void close() {
        logger.removeHandler(this);
    }
}
