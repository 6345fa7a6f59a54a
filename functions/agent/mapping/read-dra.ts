/** What is kept of the objects of Dynamic Resource Allocation, in its versions v1 and v1beta1. */
import type {
  ClaimFacts,
  ClaimRequest,
  DeviceClassFacts,
  DeviceFacts,
  DeviceTaintRuleFacts,
  SliceFacts,
} from './facts.ts';
import { at, isTrue, list, member, members, text, whole } from './json.ts';
import { MAX_DEVICES } from './quantity.ts';

export function readSlice(object: unknown): SliceFacts | undefined {
  const name = text(at(object, 'metadata', 'name'));
  const spec = member(object, 'spec');
  const driver = text(member(spec, 'driver'));
  if (name === undefined || driver === undefined) return undefined;
  return {
    name,
    driver,
    nodeName: text(member(spec, 'nodeName')),
    poolName: text(at(spec, 'pool', 'name')) ?? '',
    generation: whole(at(spec, 'pool', 'generation')) ?? 0,
    sliceCount: whole(at(spec, 'pool', 'resourceSliceCount')) ?? 1,
    devices: list(member(spec, 'devices')).flatMap(readDevice),
  };
}

function readDevice(object: unknown): readonly DeviceFacts[] {
  const name = text(member(object, 'name'));
  if (name === undefined) return [];
  // v1beta1 has everything but the name in a member of its own.
  const device = member(object, 'basic') ?? object;
  const attributes = member(device, 'attributes');
  const string = (key: string) => text(at(attributes, key, 'string'));
  return [
    {
      name,
      nodeName: text(member(device, 'nodeName')),
      type: string('type'),
      product: string('productName') ?? string('model'),
      brand: string('brand'),
      uuid: string('uuid'),
      parentUuid: string('parentUUID'),
      pciBusId: string('resource.kubernetes.io/pciBusID') ?? string('pciBusID') ?? string('pciAddr'),
      partitionProfile: string('partitionProfile'),
      healthy: !['false', false].includes(at(attributes, 'healthy', 'bool') as string | boolean),
      tainted: list(member(device, 'taints')).some((taint) =>
        ['NoSchedule', 'NoExecute'].includes(text(member(taint, 'effect')) ?? ''),
      ),
      rdma: isTrue(at(attributes, 'dra.net/rdma', 'bool')),
      counterSets: list(member(device, 'consumesCounters')).flatMap((each) => {
        const set = text(member(each, 'counterSet'));
        return set === undefined ? [] : [set];
      }),
    },
  ];
}

export function readClaim(object: unknown): ClaimFacts | undefined {
  const name = text(at(object, 'metadata', 'name'));
  if (name === undefined) return undefined;
  return {
    namespace: text(at(object, 'metadata', 'namespace')) ?? 'default',
    name,
    allocated: list(at(object, 'status', 'allocation', 'devices', 'results')).flatMap((result) => {
      const [driver, device] = [text(member(result, 'driver')), text(member(result, 'device'))];
      if (driver === undefined || device === undefined) return [];
      const pool = text(member(result, 'pool')) ?? '';
      return [{ driver, pool, device, adminAccess: isTrue(member(result, 'adminAccess')) }];
    }),
    reservedFor: list(at(object, 'status', 'reservedFor')).flatMap((user) => {
      const resource = text(member(user, 'resource'));
      const pod = text(member(user, 'name'));
      return pod === undefined || (resource !== undefined && resource !== 'pods') ? [] : [pod];
    }),
    requests: list(at(object, 'spec', 'devices', 'requests')).flatMap(readRequest),
  };
}

/** Of alternatives the first is what is wanted most. */
function readRequest(request: unknown): readonly ClaimRequest[] {
  const exact = member(request, 'exactly') ?? list(member(request, 'firstAvailable'))[0] ?? request;
  const deviceClass = text(member(exact, 'deviceClassName'));
  if (deviceClass === undefined || isTrue(member(exact, 'adminAccess'))) return [];
  if (text(member(exact, 'allocationMode')) === 'All') return [];
  return [{ deviceClass, count: Math.min(whole(member(exact, 'count')) ?? 1, MAX_DEVICES) }];
}

export function readDeviceClass(object: unknown): DeviceClassFacts | undefined {
  const name = text(at(object, 'metadata', 'name'));
  if (name === undefined) return undefined;
  const drivers = list(at(object, 'spec', 'selectors')).flatMap((selector) => {
    const expression = text(at(selector, 'cel', 'expression')) ?? '';
    return [...expression.matchAll(/device\.driver\s*==\s*["']([^"']{1,253})["']/g)].map(
      ([, driver = '']) => driver,
    );
  });
  return { name, drivers, extendedResourceName: text(at(object, 'spec', 'extendedResourceName')) };
}

/** @returns nothing for a rule that keeps nothing from being scheduled, or that selects what this does not read */
export function readDeviceTaintRule(object: unknown): DeviceTaintRuleFacts | undefined {
  const name = text(at(object, 'metadata', 'name'));
  const effect = text(at(object, 'spec', 'taint', 'effect')) ?? '';
  if (name === undefined || !['NoSchedule', 'NoExecute'].includes(effect)) return undefined;
  const selector = members(at(object, 'spec', 'deviceSelector'));
  if (Object.keys(selector).some((key) => !['driver', 'pool', 'device'].includes(key))) return undefined;
  return {
    name,
    driver: text(member(selector, 'driver')),
    pool: text(member(selector, 'pool')),
    device: text(member(selector, 'device')),
  };
}
