/**
 * Tells Prometheus what the GPUs do, and who has them. Start at {@link
 * jnvdocker.metrics.MetricsPage}; {@link jnvdocker.metrics.Metric} lists what is told.
 */
package jnvdocker.metrics;
