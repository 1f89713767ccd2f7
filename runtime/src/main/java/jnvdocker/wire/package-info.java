/**
 * Reads and writes messages in protobuf's wire format without generated classes; begin with {@link
 * jnvdocker.wire.WireMessage}.
 */
package jnvdocker.wire;
