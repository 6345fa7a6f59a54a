/**
 * Ids are opaque: they are compared as they came, never split, trimmed or
 * normalised. The only thing asked of them is that they can be written down.
 */
import type { FindingCollector } from '../../findings.ts';
import { quote } from '../../quote.ts';
import { MAX_ID_BYTES } from '../limits.ts';
import { reject, rulesOf } from './rule.ts';

export const idRules = rulesOf({
  invalid_id: reject(
    [
      'cluster.cluster_id',
      'capacity_pools[].id',
      'capacity_pools[].node_types[].id',
      'capacity_pools[].node_types[].fabric_id',
      'capacity_pools[].node_types[].in_use[].allocations[].job_id',
      'capacity_pools[].node_types[].in_use[].allocations[].rank_id',
      'capacity_pools[].node_types[].in_use[].allocations[].chain_id',
      'capacity_pools[].node_types[].reserved_for_autoscaling[].job_id',
      'capacity_pools[].node_types[].reserved_for_autoscaling[].rank_id',
      'jobs[].job_id',
      'jobs[].ranks[].rank_id',
      'jobs[].ranks[].pod_requirements[].pool_id',
      'jobs[].ranks[].pod_requirements[].node_type_id',
      'jobs[].ranks[].chains[].chain_id',
      'topology.fabrics[].id',
      'topology.links[].from_fabric_id',
      'topology.links[].to_fabric_id',
    ],
    `An id is 1 to ${MAX_ID_BYTES} bytes of UTF-8 without control characters (Unicode category Cc). A cluster id is moreover none of \`.\`, \`..\` and \`__proto__\`, holds neither \`?\` nor \`/claims/\`, and does not end in \`/snapshot\`.`,
  ),
});

/** Every UTF-16 code unit takes at most three bytes of UTF-8, so a string this short needs no count. */
const SURELY_SHORT_ENOUGH = Math.floor(MAX_ID_BYTES / 3);

/** True for 1 to 253 bytes of well-formed UTF-8 without control characters. Linear in at most 254 characters. */
export function isValidId(id: string): boolean {
  const { length } = id;
  if (length === 0 || length > MAX_ID_BYTES) return false;
  // Printable ASCII is what nearly every id is, and the cheapest test says so.
  for (let i = 0; i < length; i++) {
    const c = id.charCodeAt(i);
    if (c < 0x20 || c > 0x7e) return idFault(id) === undefined;
  }
  return true;
}

/** Says what is wrong with an id and what would be right, or `undefined` where it is valid. */
export function idFault(id: string): string | undefined {
  if (id === '') return `is empty; an id has 1 to ${MAX_ID_BYTES} bytes`;
  if (id.length > SURELY_SHORT_ENOUGH) {
    const bytes = utf8Length(id);
    if (bytes > MAX_ID_BYTES)
      return `is ${quote(id)}, ${bytes} bytes of UTF-8; an id has at most ${MAX_ID_BYTES}`;
  }
  for (let i = 0; i < id.length; i++) {
    const c = id.charCodeAt(i);
    if (c < 0x20 || (c >= 0x7f && c <= 0x9f)) {
      return `is ${quote(id)}, with the control character U+${hex(c)} at position ${i}; an id has none`;
    }
    if (c >= 0xd800 && c <= 0xdfff) {
      // A lone half of a pair has no UTF-8: encoding would replace it, and make one id of two.
      if (c > 0xdbff || !isLowSurrogate(id.charCodeAt(i + 1))) {
        return `is ${quote(id)}, with the unpaired surrogate U+${hex(c)} at position ${i}; an id is well-formed Unicode`;
      }
      i++;
    }
  }
  return undefined;
}

/**
 * Says what is wrong with a cluster id. Beyond what holds for every id: a URL path
 * cannot carry `.` and `..` (clients and fronts resolve them away, percent-encoded
 * or not), and `__proto__` would poison whatever JavaScript client keys an object
 * by cluster id, the JSON form of the vector clock first of all.
 */
export function clusterIdFault(id: string): string | undefined {
  if (id === '.' || id === '..')
    return `is ${quote(id)}, which the path of a URL cannot carry; choose another id`;
  if (id === '__proto__') {
    return `is "__proto__", which a JSON object cannot safely have as a key; choose another id`;
  }
  return idFault(id);
}

/**
 * Says what is wrong with the id under which a cluster is pushed or registered. Beyond what holds
 * for the id of every cluster that is known: API Gateway decodes a path and cuts it at a `?`, so
 * that the id would become another cluster's, and what follows the id in a path reads like a part
 * of it. Clusters that have such an id from before can still be taken out of the map.
 */
export function pushedClusterIdFault(id: string): string | undefined {
  const fault = clusterIdFault(id);
  if (fault !== undefined) return fault;
  if (id.includes('?'))
    return `is ${quote(id)}, with a "?", at which gateways cut the path of a URL; choose another id`;
  if (id.endsWith('/snapshot'))
    return `is ${quote(id)}, which ends in "/snapshot" like the path of a snapshot; choose another id`;
  if (id.includes('/claims/'))
    return `is ${quote(id)}, which holds "/claims/" like the path of a claim; choose another id`;
  return undefined;
}

/** Reports the id in `field` of the message at `path`, which {@link isValidId} refused. */
export function reportInvalidId(id: string, path: () => string, field: string, out: FindingCollector): void {
  out.report(
    idRules.invalid_id,
    () => `${path()}.${field}`,
    () => `${field} ${idFault(id)}`,
  );
}

function isLowSurrogate(c: number): boolean {
  return c >= 0xdc00 && c <= 0xdfff;
}

function utf8Length(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c < 0x80) bytes += 1;
    else if (c < 0x800) bytes += 2;
    else if (c >= 0xd800 && c <= 0xdbff && isLowSurrogate(text.charCodeAt(i + 1))) {
      bytes += 4;
      i++;
    } else bytes += 3;
  }
  return bytes;
}

function hex(codeUnit: number): string {
  return codeUnit.toString(16).toUpperCase().padStart(4, '0');
}
