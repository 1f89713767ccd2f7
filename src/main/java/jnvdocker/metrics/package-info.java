/**
 * Publishes the activity and the holders of the GPUs for Prometheus. Start at {@link
 * jnvdocker.metrics.MetricsPage}; {@link jnvdocker.metrics.Metric} lists the metrics.
 */
package jnvdocker.metrics;
