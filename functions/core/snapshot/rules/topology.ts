/** Section *Topology, API resources, components*. */
import type { ClusterResourceMap } from '../../../gen/resourcemap/v1/resource_map_pb.ts';
import type { FindingCollector } from '../../findings.ts';
import { quote } from '../../quote.ts';
import { isValidId, reportInvalidId } from './ids.ts';
import { reject, rulesOf, warn } from './rule.ts';

export const topologyRules = rulesOf({
  duplicate_fabric_id: reject('topology.fabrics[].id', 'Fabric ids are unique in the topology.'),
  unknown_link_fabric: reject(
    ['topology.links[].from_fabric_id', 'topology.links[].to_fabric_id'],
    'Both ends of a link are fabrics of the topology.',
  ),
  duplicate_link: reject(
    'topology.links[]',
    'Links are directed, one for each (from, to). A missing reverse link is legal.',
  ),
  self_link: warn('topology.links[]', 'A link joins two different fabrics.'),
  duplicate_api_resource: reject(
    'api_resources[]',
    'API resources are unique by group and kind. The empty group is the core group.',
  ),
  incomplete_api_resource: reject(
    ['api_resources[].kind', 'api_resources[].served_versions'],
    'An API resource has a kind and at least one version.',
  ),
  duplicate_component: reject('installed_components[]', 'A component is listed once with a version.'),
  component_versions_differ: warn('installed_components[]', 'A component has one version.'),
});

/** Checks `topology`. */
export function checkTopology(snapshot: ClusterResourceMap, out: FindingCollector): void {
  const { topology } = snapshot;
  if (topology === undefined) return;
  const positions = new Map<string, number>();
  for (const [f, { id }] of topology.fabrics.entries()) {
    const path = () => `topology.fabrics[${f}]`;
    if (!isValidId(id)) reportInvalidId(id, path, 'id', out);
    const first = positions.get(id);
    if (first === undefined) {
      positions.set(id, f);
      continue;
    }
    out.report(
      topologyRules.duplicate_fabric_id,
      () => `${path()}.id`,
      () =>
        `id ${quote(id)} is that of topology.fabrics[${first}] already; give each fabric an id of its own`,
    );
  }
  checkLinks(topology.links, positions, out);
}

function checkLinks(
  links: readonly { readonly fromFabricId: string; readonly toFabricId: string }[],
  fabrics: ReadonlyMap<string, number>,
  out: FindingCollector,
): void {
  const seen = new Pairs();
  for (const [l, { fromFabricId: from, toFabricId: to }] of links.entries()) {
    const path = () => `topology.links[${l}]`;
    const first = seen.add(from, to, l);
    if (first !== undefined) {
      out.report(
        topologyRules.duplicate_link,
        path,
        () =>
          `the link from ${quote(from)} to ${quote(to)} is topology.links[${first}] already; give one link a direction`,
      );
    }
    if (from === to) {
      out.report(
        topologyRules.self_link,
        path,
        () => `the link is from ${quote(from)} to itself; what holds within a fabric belongs to the fabric`,
      );
    }
    for (const [field, id] of [
      ['from_fabric_id', from],
      ['to_fabric_id', to],
    ] as const) {
      if (!isValidId(id)) reportInvalidId(id, path, field, out);
      if (fabrics.has(id)) continue;
      out.report(
        topologyRules.unknown_link_fabric,
        () => `${path()}.${field}`,
        () => `${field} ${quote(id)} is not in topology.fabrics; list the fabric, or leave the link out`,
      );
    }
  }
}

/** Checks `installed_components`. */
export function checkComponents(snapshot: ClusterResourceMap, out: FindingCollector): void {
  const seen = new Pairs();
  const firstByName = new Map<string, { readonly position: number; readonly version: string }>();
  for (const [position, { name, version }] of snapshot.installedComponents.entries()) {
    const path = () => `installed_components[${position}]`;
    const same = seen.add(name, version, position);
    const first = firstByName.get(name);
    if (first === undefined) {
      firstByName.set(name, { position, version });
    } else if (same !== undefined) {
      out.report(
        topologyRules.duplicate_component,
        path,
        () =>
          `component ${quote(name)} ${quote(version)} is installed_components[${same}] already; list it once`,
      );
    } else {
      out.report(
        topologyRules.component_versions_differ,
        path,
        () =>
          `component ${quote(name)} has version ${quote(version)} here, and ${quote(first.version)} in ` +
          `installed_components[${first.position}]`,
      );
    }
  }
}

/** Checks `api_resources`. */
export function checkApiResources(snapshot: ClusterResourceMap, out: FindingCollector): void {
  const seen = new Pairs();
  for (const [position, { group, kind, servedVersions }] of snapshot.apiResources.entries()) {
    const path = () => `api_resources[${position}]`;
    const first = seen.add(group, kind, position);
    if (first !== undefined) {
      out.report(
        topologyRules.duplicate_api_resource,
        path,
        () =>
          `kind ${quote(kind)} of group ${quote(group)} is api_resources[${first}] already; list it once, with all its served_versions`,
      );
    }
    if (kind === '') {
      out.report(
        topologyRules.incomplete_api_resource,
        () => `${path()}.kind`,
        () => `kind is not set in group ${quote(group)}; set it, such as "Pod"`,
      );
    }
    if (!servedVersions.some((version) => version !== '')) {
      out.report(
        topologyRules.incomplete_api_resource,
        () => `${path()}.served_versions`,
        () =>
          `kind ${quote(kind)} of group ${quote(group)} has no served_versions; list at least one, such as "v1"`,
      );
    }
  }
}

/** The first position of each pair of strings. Nested, since joined strings could be those of another pair. */
class Pairs {
  readonly #positions = new Map<string, Map<string, number>>();

  /** Adds a pair, or returns where it is already. */
  add(first: string, second: string, position: number): number | undefined {
    let seconds = this.#positions.get(first);
    if (seconds === undefined) {
      seconds = new Map();
      this.#positions.set(first, seconds);
    }
    const known = seconds.get(second);
    if (known === undefined) seconds.set(second, position);
    return known;
  }
}
