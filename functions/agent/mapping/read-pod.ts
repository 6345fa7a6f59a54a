/** What is kept of a Pod: never its environment, its volumes or its commands. */
import type {
  ContainerFacts,
  Counts,
  Labels,
  Owner,
  PodFacts,
  PodPhase,
  PodPlacement,
  SelectorTerm,
  Toleration,
} from './facts.ts';
import { at, instant, isTrue, list, member, members, text, texts } from './json.ts';
import { devicesOf, MAX_DEVICES } from './quantity.ts';

const PHASES: ReadonlySet<string> = new Set(['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown']);

/** Labels and annotations that say what a pod belongs to, beside those under the agent's own prefix. */
const IDENTITY_PREFIXES = [
  'leaderworkerset.sigs.k8s.io/',
  'jobset.sigs.k8s.io/',
  'batch.kubernetes.io/',
  'training.kubeflow.org/',
  'ray.io/',
  'llm-d.ai/',
  'grove.io/',
  'nvidia.com/dynamo-',
  'serving.kserve.io/',
  'apps.kubernetes.io/',
];
const IDENTITY_KEYS: ReadonlySet<string> = new Set([
  'pod-template-hash',
  'job-name',
  'replicaIndex',
  'component',
  'app',
  'app.kubernetes.io/name',
  'app.kubernetes.io/version',
]);

export interface PodReading {
  /** The prefix of the labels by which deployers name jobs, without a slash. */
  readonly labelPrefix: string;
  /** What was kept of the same pod before: that it was ready once is not to be forgotten. */
  readonly before?: PodFacts | undefined;
}

/**
 * @returns nothing for a pod that neither has nor asks for extended resources or claims: most
 *   pods of most clusters, which a map of accelerators has no use for
 */
export function readPod(object: unknown, { labelPrefix, before }: PodReading): PodFacts | undefined {
  const name = text(at(object, 'metadata', 'name'));
  if (name === undefined) return undefined;
  const spec = member(object, 'spec');
  const requests = effectiveRequests(spec);
  const claims = claimNames(object);
  const extendedResourceClaim = text(
    at(object, 'status', 'extendedResourceClaimStatus', 'resourceClaimName'),
  );
  if (Object.keys(requests).length === 0 && claims.length === 0 && extendedResourceClaim === undefined)
    return undefined;

  const phase = text(at(object, 'status', 'phase')) ?? 'Pending';
  const nodeName = text(member(spec, 'nodeName'));
  const conditions = list(at(object, 'status', 'conditions'));
  const ready = conditions.some(
    (each) => member(each, 'type') === 'Ready' && member(each, 'status') === 'True',
  );
  const uid = text(at(object, 'metadata', 'uid')) ?? '';
  return {
    namespace: text(at(object, 'metadata', 'namespace')) ?? 'default',
    name,
    uid,
    createdMs: instant(at(object, 'metadata', 'creationTimestamp')) ?? 0,
    nodeName,
    phase: PHASES.has(phase) ? (phase as PodPhase) : 'Unknown',
    deleting: text(at(object, 'metadata', 'deletionTimestamp')) !== undefined,
    ready,
    everReady: ready || (before?.uid === uid && before.everReady),
    reason: reasonOf(object, conditions),
    requests,
    claims,
    extendedResourceClaim,
    owner: controller(at(object, 'metadata', 'ownerReferences')),
    labels: identity(at(object, 'metadata', 'labels'), labelPrefix),
    annotations: identity(at(object, 'metadata', 'annotations'), labelPrefix),
    placement: nodeName === undefined ? placementOf(spec) : undefined,
    container: containerWithDevices(object),
  };
}

/**
 * What the scheduler subtracts from a node: the containers and sidecars together, or the
 * largest init container beside the sidecars that were started before it, if that is more.
 */
function effectiveRequests(spec: unknown): Counts {
  const running = new Map<string, number>();
  const starting = new Map<string, number>();
  const add = (to: Map<string, number>, name: string, count: number) =>
    to.set(name, Math.min((to.get(name) ?? 0) + count, MAX_DEVICES));

  const sidecars = new Map<string, number>();
  for (const container of list(member(spec, 'initContainers'))) {
    const requests = requestsOf(container);
    if (member(container, 'restartPolicy') === 'Always') {
      for (const [name, count] of requests) add(sidecars, name, count);
      continue;
    }
    for (const [name, count] of requests) {
      starting.set(name, Math.max(starting.get(name) ?? 0, count + (sidecars.get(name) ?? 0)));
    }
  }
  for (const container of list(member(spec, 'containers'))) {
    for (const [name, count] of requestsOf(container)) add(running, name, count);
  }
  for (const [name, count] of sidecars) add(running, name, count);
  for (const [name, count] of requestNames(member(spec, 'overhead'))) add(running, name, count);

  const out: Record<string, number> = {};
  for (const name of new Set([...running.keys(), ...starting.keys()])) {
    out[name] = Math.max(running.get(name) ?? 0, starting.get(name) ?? 0);
  }
  return out;
}

/** The API server fills requests in from limits; what was dumped before it did has limits only. */
function requestsOf(container: unknown): ReadonlyMap<string, number> {
  const limits = requestNames(at(container, 'resources', 'limits'));
  const requests = requestNames(at(container, 'resources', 'requests'));
  return new Map([...limits, ...requests]);
}

function requestNames(value: unknown): ReadonlyMap<string, number> {
  const out = new Map<string, number>();
  for (const [name, quantity] of Object.entries(members(value))) {
    const count = name.includes('/') ? devicesOf(quantity) : 0;
    if (count > 0) out.set(name, count);
  }
  return out;
}

function claimNames(object: unknown): readonly string[] {
  const made = new Map(
    list(at(object, 'status', 'resourceClaimStatuses')).map((status) => [
      text(member(status, 'name')),
      text(member(status, 'resourceClaimName')),
    ]),
  );
  return list(at(object, 'spec', 'resourceClaims')).flatMap((claim) => {
    const name = text(member(claim, 'resourceClaimName')) ?? made.get(text(member(claim, 'name')));
    return name === undefined ? [] : [name];
  });
}

function controller(references: unknown): Owner | undefined {
  for (const reference of list(references)) {
    const [kind, name] = [text(member(reference, 'kind')), text(member(reference, 'name'))];
    if (isTrue(member(reference, 'controller')) && kind !== undefined && name !== undefined)
      return { kind, name };
  }
  return undefined;
}

function identity(value: unknown, labelPrefix: string): Labels {
  const out: Record<string, string> = {};
  for (const [key, each] of Object.entries(texts(value))) {
    const known =
      key.startsWith(`${labelPrefix}/`) ||
      IDENTITY_KEYS.has(key) ||
      IDENTITY_PREFIXES.some((prefix) => key.startsWith(prefix));
    if (known) out[key] = each;
  }
  return out;
}

function reasonOf(object: unknown, conditions: readonly unknown[]): string | undefined {
  const own = text(at(object, 'status', 'reason'));
  if (own !== undefined) return own;
  for (const type of ['PodScheduled', 'Ready']) {
    const condition = conditions.find(
      (each) => member(each, 'type') === type && member(each, 'status') !== 'True',
    );
    const reason = text(member(condition, 'reason'));
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function placementOf(spec: unknown): PodPlacement {
  const required = at(spec, 'affinity', 'nodeAffinity', 'requiredDuringSchedulingIgnoredDuringExecution');
  return {
    nodeSelector: texts(member(spec, 'nodeSelector')),
    terms: list(member(required, 'nodeSelectorTerms')).map(readTerm),
    tolerations: readTolerations(member(spec, 'tolerations')),
  };
}

function readTerm(term: unknown): SelectorTerm {
  return {
    expressions: list(member(term, 'matchExpressions')).map((expression) => ({
      key: text(member(expression, 'key')) ?? '',
      operator: text(member(expression, 'operator')) ?? '',
      values: list(member(expression, 'values')).flatMap((value) =>
        typeof value === 'string' ? [value] : [],
      ),
    })),
  };
}

export function readTolerations(value: unknown): readonly Toleration[] {
  return list(value).map((each) => ({
    key: text(member(each, 'key')),
    operator: text(member(each, 'operator')),
    value: text(member(each, 'value')),
    effect: text(member(each, 'effect')),
  }));
}

/** Flags that engines have for parallelism. Nothing else of a command is read, and nothing of it kept. */
const PARALLELISM = {
  tensor: ['--tensor-parallel-size', '--tp', '-tp', '--tp-size'],
  pipeline: ['--pipeline-parallel-size', '--pp', '-pp', '--pp-size'],
  data: ['--data-parallel-size', '--dp', '-dp', '--dp-size'],
} as const;

function containerWithDevices(object: unknown): ContainerFacts | undefined {
  const containers = list(at(object, 'spec', 'containers'));
  const container =
    containers.find((each) => requestsOf(each).size > 0) ??
    containers.find((each) => list(at(each, 'resources', 'claims')).length > 0);
  const image = text(member(container, 'image'));
  if (image === undefined) return undefined;
  const status = list(at(object, 'status', 'containerStatuses')).find(
    (each) => member(each, 'name') === member(container, 'name'),
  );
  const imageId = text(member(status, 'imageID')) ?? '';
  const words = [...list(member(container, 'command')), ...list(member(container, 'args'))]
    .flatMap((each) => (typeof each === 'string' ? each.slice(0, 10_000).split(/\s+/) : []))
    .slice(0, 2_000);
  return {
    image,
    digest: imageId.includes('@') ? imageId.slice(imageId.lastIndexOf('@') + 1) : undefined,
    tensor: flagValue(words, PARALLELISM.tensor),
    pipeline: flagValue(words, PARALLELISM.pipeline),
    data: flagValue(words, PARALLELISM.data),
  };
}

function flagValue(words: readonly string[], flags: readonly string[]): number | undefined {
  for (const [position, word] of words.entries()) {
    for (const flag of flags) {
      const value =
        word === flag ? words[position + 1] : word.startsWith(`${flag}=`) ? word.slice(flag.length + 1) : '';
      if (value !== undefined && /^[1-9]\d{0,5}$/.test(value)) return Number(value);
    }
  }
  return undefined;
}
