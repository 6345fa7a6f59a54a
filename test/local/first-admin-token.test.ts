import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../functions/http/app.ts';
import { TokenFile } from '../../functions/local/first-admin-token.ts';
import { readinessRoute } from '../../functions/local/readiness.ts';
import { startService } from '../../functions/local/service.ts';
import { dynamoClient, storeOn } from '../../functions/storage/client.ts';
import { SILENT } from '../page/services.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rmap-token-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('The file of the first admin’s token', () => {
  it('has the token, for its owner alone, also where the file was open to others', () => {
    const path = join(folder, 'a');
    writeFileSync(path, '', { mode: 0o644 });
    new TokenFile(path).write('rmap_x');
    expect(readFileSync(path, 'utf8')).toBe('rmap_x\n');
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('is not left behind without a token, and keeps an older one', () => {
    const path = join(folder, 'b');
    new TokenFile(path).leave();
    expect(existsSync(path)).toBe(false);
    new TokenFile(path).write('rmap_y');
    new TokenFile(path).leave();
    expect(readFileSync(path, 'utf8')).toBe('rmap_y\n');
  });

  it('is refused before there is a token that could be lost', () => {
    expect(() => new TokenFile(join(folder, 'no', 'such', 'folder'))).toThrow('ENOENT');
  });
});

describe('GET /readyz', () => {
  it('says that the store cannot be reached', async () => {
    const client = dynamoClient('http://127.0.0.1:1');
    const app = createApp(SILENT, { kind: 'open' });
    readinessRoute(app, storeOn(client, { heads: 'heads', contents: 'bodies', shards: 1 }));
    const response = await app.request('/readyz');
    client.destroy();
    expect([response.status, await response.json()]).toEqual([
      503,
      expect.objectContaining({
        code: 'store_unavailable',
        detail: 'The store cannot be reached, so nothing can be served.',
      }),
    ]);
  });

  it('says whether the store can be reached, where /livez does not ask', async () => {
    const service = await startService({ engine: { kind: 'memory' }, port: 0, host: '127.0.0.1' });
    try {
      const statuses = await Promise.all(
        ['/readyz', '/livez', '/version'].map(async (path) => (await fetch(service.url + path)).status),
      );
      expect(statuses).toEqual([200, 200, 200]);
    } finally {
      await service.close();
    }
  });
});
