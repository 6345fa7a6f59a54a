import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pushSamples } from '../functions/local/samples.ts';
import { type LocalService, startService } from '../functions/local/service.ts';

const run = promisify(execFile);
const root = new URL('..', import.meta.url);
const readme = readFileSync(new URL('README.md', root), 'utf8');

/** Every command of every shell block, with lines that end in a backslash joined. */
const commands = [...readme.matchAll(/```sh\n(.*?)```/gs)]
  .flatMap(([, block]) => (block ?? '').replaceAll('\\\n', ' ').split('\n'))
  .map((line) => line.trim())
  .filter((line) => line !== '');

describe('The README', () => {
  let service: LocalService;

  beforeAll(async () => {
    service = await startService({ engine: { kind: 'memory' }, port: 0, host: '127.0.0.1' });
    await pushSamples(service.url, () => undefined);
  });
  afterAll(async () => {
    await service.close();
  });

  const curls = commands.filter((command) => command.startsWith('curl'));

  it('shows curl commands', () => {
    expect(curls.length).toBeGreaterThanOrEqual(8);
  });

  it.each(curls)('shows a command that works: %s', async (command) => {
    const local = command
      .replaceAll('http://127.0.0.1:8080', service.url)
      .replace(/^curl/, 'curl -sS --fail-with-body');
    // The commands stand in the order of the page, and the DELETE comes after what needs its cluster.
    const { stdout } = await run('bash', ['-c', local], { cwd: root, maxBuffer: 1 << 26 });
    expect(stdout).not.toBe('');
  });

  it('shows a program that follows the map, and that works', async () => {
    const [, program = ''] = /```ts\n(.*?)```/s.exec(readme) ?? [];
    const client = new URL('functions/client/index.ts', root).href;
    const asTest = program
      .replace("'resource-map'", JSON.stringify(client))
      .replace('http://127.0.0.1:8080', service.url);
    expect(asTest).toContain(client);
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', asTest], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    child.kill();
    expect(line.toString()).toMatch(/^\d+ clusters, as of now\n/);
  });
});
