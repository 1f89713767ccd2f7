/** Which CUDA version the driver supports, as its own library tells when it is asked. */
package jnvdocker.cuda;
