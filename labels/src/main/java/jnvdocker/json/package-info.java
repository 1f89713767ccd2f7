/** JSON that strangers have written. Start at {@link jnvdocker.json.BoundedParser}. */
package jnvdocker.json;
