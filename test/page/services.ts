/** The real local service, as the tests of the page need it. */
import { readdirSync, readFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { type LocalService, type ServiceOptions, startService } from '../../functions/local/service.ts';
import type { Telemetry } from '../../functions/runtime/telemetry.ts';

const SAMPLES = new URL('../../functions/local/samples/', import.meta.url);

/** Says nothing: what goes wrong in these tests goes wrong on purpose. */
export const SILENT: Telemetry = {
  warn: () => undefined,
  error: () => undefined,
  count: () => undefined,
  gauge: () => undefined,
};

/** Ends with the test. */
export async function serve(options: Partial<ServiceOptions> = {}): Promise<LocalService> {
  const service = await startService({
    engine: { kind: 'memory' },
    port: 0,
    host: '127.0.0.1',
    telemetry: SILENT,
    ...options,
  });
  onTestFinished(() => service.close());
  return service;
}

export interface SampleSnapshot {
  readonly cluster: { clusterId: string; displayName?: string; provider?: string; region?: string };
  collectedAt: string;
  logicalCounter: string;
  readonly capacityPools: { readonly nodeTypes: Record<string, unknown>[] }[];
}

/** The samples, as collected just now. */
export function samples(): readonly SampleSnapshot[] {
  return readdirSync(SAMPLES)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => {
      const snapshot = JSON.parse(readFileSync(new URL(name, SAMPLES), 'utf8')) as SampleSnapshot;
      return { ...snapshot, collectedAt: new Date().toISOString() };
    });
}

/** @throws Error with the problem, unless it is one of the statuses that are expected */
export async function push(
  url: string,
  snapshot: SampleSnapshot,
  token?: string,
  expected = [200, 201],
): Promise<number> {
  const response = await fetch(
    `${url}/v1/clusters/${encodeURIComponent(snapshot.cluster.clusterId)}/snapshot`,
    {
      method: 'PUT',
      headers: {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(snapshot),
    },
  );
  if (!expected.includes(response.status)) throw new Error(`${response.status}: ${await response.text()}`);
  return response.status;
}

export async function pushAll(url: string): Promise<void> {
  for (const snapshot of samples()) await push(url, snapshot);
}

/** JSON of the API, as a client without a browser gets it. */
export async function api<T>(url: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(url + path, {
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

/** Of the whole map: as long as it is the same, so is everything that is computed on the map. */
export async function mapEtag(url: string): Promise<string> {
  const { status, headers } = await fetch(`${url}/v1/map`, { method: 'HEAD' });
  const etag = headers.get('etag');
  if (status !== 200 || etag === null) throw new Error(`The map has status ${status} and the etag ${etag}.`);
  return etag;
}

/** @param issue a token of the agent of a cluster */
export async function pushAsAgents(
  url: string,
  issue: (clusterId: string) => Promise<string>,
  snapshots: readonly SampleSnapshot[],
): Promise<void> {
  for (const snapshot of snapshots) await push(url, snapshot, await issue(snapshot.cluster.clusterId));
}
