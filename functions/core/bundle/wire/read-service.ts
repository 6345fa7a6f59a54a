/** Node services of the wire as the vocabulary of `model.ts`. */
import type * as wire from '../../../gen/resourcemap/bundle/v1/bundle_pb.ts';
import { quote } from '../../quote.ts';
import { MAX_POOLS, MAX_SERVICES } from '../model/limits.ts';
import type { NodeService } from '../model/model.ts';
import type { Faults } from './faults.ts';
import { readCapabilityRequirements } from './read-bundle.ts';
import { readCapabilities } from './read-profile.ts';

const LIFECYCLES = ['eager', 'lazy'] as const;

export function readServices(
  messages: readonly wire.NodeService[],
  path: string,
  faults: Faults,
): readonly NodeService[] {
  const seen = new Set<string>();
  return faults.atMost(path, messages, MAX_SERVICES).map((message, i) => {
    const at = `${path}[${i}]`;
    const { serviceId } = message;
    if (seen.has(serviceId)) {
      faults.add(`${at}.service_id`, `${quote(serviceId)} is given twice; every service has its own.`);
    }
    seen.add(serviceId);
    return readService(message, at, faults);
  });
}

function readService(message: wire.NodeService, path: string, faults: Faults): NodeService {
  const { serviceId, jobSpec, provides, lifecycle } = message;
  const consumes = readCapabilityRequirements(message.consumes, `${path}.consumes`, faults);
  for (const [i, { count }] of consumes.entries()) faults.amount(`${path}.consumes[${i}].count`, count);
  return {
    serviceId: faults.name(`${path}.service_id`, serviceId),
    ...(jobSpec === undefined ? {} : { jobSpec }),
    consumes,
    provides: readCapabilities(provides, `${path}.provides`, faults),
    pools: faults
      .atMost(`${path}.pools`, message.pools, MAX_POOLS)
      .map((name, i) => faults.label(`${path}.pools[${i}]`, name)),
    lifecycle: faults.word(`${path}.lifecycle`, lifecycle, LIFECYCLES),
  };
}
