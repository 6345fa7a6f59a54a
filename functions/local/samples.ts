/** Real snapshots, to begin with: pushed over HTTP, as an agent would, and shown as the map that a scheduler gets. */
import { readdirSync, readFileSync } from 'node:fs';
import { createClient } from '../client/client.ts';
import { ApiError } from '../client/errors.ts';
import { decodeSnapshot } from '../core/snapshot/decode.ts';
import { PushOutcome } from '../gen/resourcemap/v1/service_pb.ts';
import { clusterTable } from '../terminal/cluster-table.ts';

/** From dist/local and from functions/local alike. */
const SAMPLES = new URL('../../functions/local/samples/', import.meta.url);

/** Pushes every sample and prints what became of it, then the map. */
export async function pushSamples(url: string, print: (line: string) => void): Promise<void> {
  const client = createClient({ baseUrl: url });
  for (const name of readdirSync(SAMPLES)
    .filter((file) => file.endsWith('.json'))
    .sort()) {
    const snapshot = decodeSnapshot(readFileSync(new URL(name, SAMPLES)), 'json');
    try {
      const { outcome, clusterId, logicalCounter } = await client.push(snapshot);
      print(`pushed ${name}: ${PushOutcome[outcome]} ${clusterId} at ${logicalCounter}`);
    } catch (error) {
      // Data of an earlier run may be ahead of the samples; that is no reason not to start.
      if (!(error instanceof ApiError && error.status === 409)) throw error;
      print(`left ${name} alone: ${error.problem.detail}`);
    }
  }
  const response = await client.map();
  if (response.kind === 'map')
    print(`fetched the map: ${response.map.clusterResourceMaps.length} clusters, etag ${response.etag}`);
  print('');
  print(clusterTable(await client.clusters()));
  print('');
}
