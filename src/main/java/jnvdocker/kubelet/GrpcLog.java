package jnvdocker.kubelet;

import org.slf4j.LoggerFactory;

import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Has gRPC's warnings logged as all others are. */
final class GrpcLog extends Handler {
    // Kept here, since Java forgets loggers that nobody keeps, with their settings.
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
            LoggerFactory.getLogger(GrpcLog.class)
                    .warn("gRPC: {}", entry.getMessage(), entry.getThrown());
        }
    }

    @Override
    public void flush() {}

    @Override
    public void close() {
        logger.removeHandler(this);
    }
}
