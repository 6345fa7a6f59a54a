import { execFile, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type GuardedService, startGuardedService } from '../auth/guarded-service.ts';
import { pushAsAgents, samples } from '../page/services.ts';
import { scrape } from './scrape.ts';

const run = promisify(execFile);
const FOLDER = fileURLToPath(new URL('../../docs/monitoring/', import.meta.url));
const installed =
  spawnSync('promtool', ['--version']).status === 0 && spawnSync('prometheus', ['--version']).status === 0;
if (!installed) {
  process.stderr.write(
    'SKIPPED: no prometheus is installed (apt-get install prometheus), so no rule is tested.\n',
  );
}

let service: GuardedService;
let token: string;

describe.skipIf(!installed)('With Prometheus', () => {
  beforeAll(async () => {
    service = await startGuardedService();
    await pushAsAgents(service.url, (cluster) => service.issue('AGENT', cluster), samples());
    await service.call('DELETE /v1/clusters/kops-l4', { token: service.adminToken });
    token = await service.issue('MONITOR');
  });
  afterAll(() => service.close());

  it.each(['/metrics', '/metrics/capacity'])('promtool has nothing against %s', async (path) => {
    const { text } = await scrape(service.url, path, { authorization: `Bearer ${token}` });
    const { status, stderr, stdout } = spawnSync('promtool', ['check', 'metrics'], {
      input: text,
      encoding: 'utf8',
    });
    expect([status, stdout, stderr]).toEqual([0, '', '']);
  });

  it('the rules are valid, and their tests pass', async () => {
    expect((await run('promtool', ['check', 'rules', 'alerts.yaml'], { cwd: FOLDER })).stdout).toContain(
      '7 rules found',
    );
    expect((await run('promtool', ['test', 'rules', 'alerts.test.yaml'], { cwd: FOLDER })).stdout).toContain(
      'SUCCESS',
    );
  });

  it('a real one scrapes with the configuration of the docs, and every expression of the dashboard has data', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rmap-prometheus-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, 'token'), token);
    const config = readFileSync(join(FOLDER, 'prometheus.yaml'), 'utf8')
      .replaceAll('/etc/prometheus/resource-map.token', join(folder, 'token'))
      .replaceAll('map.example.com', new URL(service.url).host)
      .replaceAll('scheme: https', 'scheme: http')
      .replace(/scrape_interval: \d+s/g, 'scrape_interval: 1s')
      .replace('rule_files:', '  evaluation_interval: 1s\n\nrule_files:')
      .replace('alerts.yaml', join(FOLDER, 'alerts.yaml'));
    writeFileSync(join(folder, 'prometheus.yaml'), config);
    const port = await freePort();
    const server = spawn(
      'prometheus',
      [
        `--config.file=${join(folder, 'prometheus.yaml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdio: 'ignore' },
    );
    onTestFinished(() => void server.kill());
    const query = async (expression: string): Promise<number> => {
      const response = await fetch(
        `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expression)}`,
      );
      const { status, data, error } = (await response.json()) as {
        status: string;
        error?: string;
        data?: { result: unknown[] };
      };
      if (status !== 'success') throw new Error(`${expression}: ${error}`);
      return data?.result.length ?? 0;
    };
    await expect.poll(() => query('up == 1').catch(() => 0), { timeout: 40_000 }).toBe(2);
    await expect.poll(() => query('resource_map_largest_free_block'), { timeout: 20_000 }).toBeGreaterThan(0);

    const { panels } = JSON.parse(readFileSync(join(FOLDER, 'dashboard.json'), 'utf8')) as {
      panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
    };
    const empty: string[] = [];
    let expressions = 0;
    for (const { title, targets } of panels) {
      for (const { expr } of targets) {
        expressions++;
        if ((await query(expr.replace(/"\$\w+"/g, '".*"'))) === 0) empty.push(`${title}: ${expr}`);
      }
    }
    expect(expressions).toBeGreaterThan(14);
    expect(empty).toEqual([]);
    const warned = 'ALERTS{alertname="ResourceMapClusterWarnings"}';
    await expect.poll(() => query(warned), { timeout: 20_000 }).toBeGreaterThan(0);
  });
});

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
