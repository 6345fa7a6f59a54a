import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Registration, StaticToken } from '../../functions/core/registration.ts';
import { PoolSchema } from '../../functions/gen/resourcemap/bundle/v1/pool_pb.ts';
import { dynamoClient } from '../../functions/storage/client.ts';
import { createTable } from '../../functions/storage/create-tables.ts';
import { PoolStore, poolsTableDefinition } from '../../functions/storage/pools.ts';
import {
  RegistrationStore,
  registrationId,
  registrationsTableDefinition,
} from '../../functions/storage/registrations.ts';
import { engines } from '../engines/store.ts';

/** Forwards every request to the engine, and keeps the response to the next write to itself. */
class LossyProxy {
  #losing = false;
  lost = 0;
  readonly #server: Server;

  constructor(engine: string) {
    this.#server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const target = String(request.headers['x-amz-target']);
      const answer = await fetch(engine, {
        method: 'POST',
        headers: {
          'content-type': 'application/x-amz-json-1.0',
          'x-amz-target': target,
          authorization: String(request.headers.authorization),
          'x-amz-date': String(request.headers['x-amz-date']),
        },
        body: Buffer.concat(chunks),
      });
      const body = Buffer.from(await answer.arrayBuffer());
      if (this.#losing && /PutItem|DeleteItem/.test(target)) {
        this.#losing = false;
        this.lost++;
        request.socket.destroy();
        return;
      }
      response.writeHead(answer.status, { 'content-type': 'application/x-amz-json-1.0' }).end(body);
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  loseNext(): void {
    this.#losing = true;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

const COMMON = {
  note: '',
  createdAtMs: 1_700_000_000_000,
  createdBy: 'test',
  rights: { role: 'scheduler' },
} as const;

describe.each(engines)(
  'a write whose response is lost, and which is sent again, on $name',
  ({ endpoint }) => {
    const proxy = new LossyProxy(endpoint);
    const suffix = randomUUID();
    let client: ReturnType<typeof dynamoClient>;
    let registrations: RegistrationStore;
    let pools: PoolStore;

    beforeAll(async () => {
      client = dynamoClient(await proxy.listen());
      registrations = new RegistrationStore(client, `trust-${suffix}`);
      pools = new PoolStore(client, `pools-${suffix}`);
      await createTable(client, registrationsTableDefinition(`trust-${suffix}`));
      await createTable(client, poolsTableDefinition(`pools-${suffix}`));
    });
    afterAll(() => {
      client.destroy();
      proxy.close();
    });

    /** Loses the response to the first write of `work`, and checks that there was one. */
    async function losing<T>(work: () => Promise<T>): Promise<T> {
      const before = proxy.lost;
      proxy.loseNext();
      const result = await work();
      expect(proxy.lost).toBe(before + 1);
      return result;
    }

    const registration = (match: Registration['match'], note = ''): Registration => ({
      ...COMMON,
      kind: 'registration',
      id: registrationId('https://issuer.example', 'map', match),
      issuer: 'https://issuer.example',
      audience: 'map',
      keys: { kind: 'discovery' },
      match,
      note,
    });

    it('adds a token once, and another of its digest not at all', async () => {
      const token: StaticToken = { ...COMMON, kind: 'token', id: 'a'.repeat(64) };
      expect(await losing(() => registrations.add(token))).toBe(true);
      expect(await registrations.add({ ...token, note: 'another' })).toBe(false);
      expect(await registrations.list('token')).toEqual([token]);
    });

    it.each([
      ['a subject', { kind: 'subject', subject: 's' }],
      ['an attribute', { kind: 'email_domain', domain: 'example.com' }],
    ] as const)('registers by %s once, and what differs not at all', async (_by, match) => {
      expect(await losing(() => registrations.register(registration(match)))).toBe('added');
      expect(await registrations.register(registration(match, 'another'))).toBe('exists');
    });

    it('creates a pool, whose creation is refused to others', async () => {
      const pool = create(PoolSchema, { poolName: 'gpu' });
      expect(await losing(() => pools.put(pool, { kind: 'absent' }))).toMatchObject({ outcome: 'created' });
      expect(await pools.put(pool, { kind: 'absent' })).toEqual({ outcome: 'refused' });
    });

    it.each([true, false])('removes a pool (expecting its version: %j)', async (expecting) => {
      const pool = create(PoolSchema, { poolName: `removed-${expecting}` });
      const put = await pools.put(pool, { kind: 'new' });
      const versions = put.outcome === 'refused' || !expecting ? undefined : [put.version];
      expect(await losing(() => pools.remove(pool.poolName, versions))).toBe('removed');
    });
  },
);
