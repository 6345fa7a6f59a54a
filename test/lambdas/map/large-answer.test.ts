/** Answers so large that they are sent as they are made. */

import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
  InstalledComponentSchema,
} from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { engines, freshStore } from '../../engines/store.ts';
import { serveStore, type TestService } from './service.ts';
import { clusterSnapshot } from './snapshots.ts';

const PROTOBUF = { accept: 'application/x-protobuf' };

/** Some ten megabytes that deflate to a hundredth. */
function largeSnapshot(): ClusterResourceMap {
  const snapshot = clusterSnapshot('large');
  for (let index = 0; index < 45_000; index++) {
    const name = `${String(index).padStart(6, '0')}-${'component'.repeat(24)}`;
    snapshot.installedComponents.push(create(InstalledComponentSchema, { name, version: '1' }));
  }
  return snapshot;
}

describe('a response of ten megabytes', () => {
  const snapshot = largeSnapshot();
  let service: TestService;
  beforeAll(async () => {
    const [engine] = engines;
    if (engine === undefined) throw new Error('no engine runs');
    service = await serveStore(await freshStore(engine));
    await service.client.push(snapshot);
  });
  afterAll(() => service.close());

  async function open(method: string, headers: Record<string, string>): Promise<IncomingMessage> {
    const asked = request(`${service.url}/v1/clusters/large/snapshot`, { method, headers }).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    return response;
  }

  async function read(response: IncomingMessage): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  }

  it('arrives whole, and of the length that was told before its first byte', async () => {
    const expected = toBinary(ClusterResourceMapSchema, snapshot).length;
    expect(expected).toBeGreaterThan(8 * 1024 * 1024);
    const plain = await open('GET', PROTOBUF);
    expect(plain.headers['content-length']).toBe(String(expected));
    const bytes = await read(plain);
    expect(bytes).toHaveLength(expected);
    const zipped = await read(await open('GET', { ...PROTOBUF, 'accept-encoding': 'gzip' }));
    expect(gunzipSync(zipped).equals(bytes)).toBe(true);
  });

  it('tells its length to HEAD, and sends nothing of it', async () => {
    const head = await open('HEAD', PROTOBUF);
    expect(Number(head.headers['content-length'])).toBeGreaterThan(8 * 1024 * 1024);
    expect(await read(head)).toHaveLength(0);
  });

  it('whose reader goes away half-way harms nobody', async () => {
    const left = await open('GET', PROTOBUF);
    await once(left, 'data');
    left.destroy();
    expect(await read(await open('GET', PROTOBUF))).not.toHaveLength(0);
    expect(service.errors).toStrictEqual([]);
  });
});
