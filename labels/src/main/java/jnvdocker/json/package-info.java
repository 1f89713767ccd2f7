/** JSON that strangers have written. Start at {@link jnvdocker.json.ForeignJson}. */
package jnvdocker.json;
